"""The manifest's types and rules: a file is named by repository, revision, path, size and sha256.

Reads nix/models.json and the manifests a user adds; refuses what a path traversal, a branch name
or a half-filled entry would let through.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from qwen3090.data import data_file
from qwen3090.errors import UserError

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
GENERATORS = ("base-config", "safetensors-index")


def _relative(path: str) -> str:
    parts = PurePosixPath(path).parts
    if (
        not parts
        or path.startswith("/")
        or "\\" in path
        or ".." in parts
        or path != "/".join(parts)
    ):
        raise ValueError(f"'{path}' is not a plain relative path")
    if any(part.startswith(".") and part != ".gitattributes" for part in parts):
        raise ValueError(
            f"'{path}' has a hidden part; those names are kept for the tool's own files"
        )
    if not path.isprintable():
        raise ValueError(f"{path!r} has a character that no file name should have")
    if path.endswith(".part"):
        raise ValueError(f"'{path}' ends in .part, which marks an unfinished download")
    return path


RelativePath = Annotated[str, AfterValidator(_relative)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Repository = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")]
Text = Annotated[str, StringConstraints(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Entry(_Strict):
    path: RelativePath


class ModelFile(_Entry):
    """A file to download: size in bytes and sha256 of its content."""

    size: Annotated[int, Field(ge=0)]
    sha256: Sha256


class GeneratedFile(_Entry):
    """A file written here because its published hash is not known."""

    generated_by: Literal["base-config", "safetensors-index"]
    reason: Text


class LeftOutFile(_Entry):
    """A file of the repository that is not fetched, and why."""

    reason: Text


class ModelRepository(_Strict):
    """One repository of the hub at one commit."""

    repository: Repository
    revision: Commit
    purpose: Text
    files: Annotated[tuple[ModelFile, ...], Field(min_length=1)]
    generated: tuple[GeneratedFile, ...] = ()
    left_out: tuple[LeftOutFile, ...] = ()

    @model_validator(mode="after")
    def _each_path_once(self) -> "ModelRepository":
        seen: set[str] = set()
        entries: tuple[_Entry, ...] = (*self.files, *self.generated, *self.left_out)
        for entry in entries:
            if entry.path in seen:
                raise ValueError(f"'{entry.path}' stands twice")
            seen.add(entry.path)
        for path in seen:
            for parent in PurePosixPath(path).parents:
                if str(parent) in seen:
                    raise ValueError(f"'{parent}' is a file and the folder of '{path}'")
        return self

    @property
    def size(self) -> int:
        """Bytes to download for the whole repository."""
        return sum(entry.size for entry in self.files)


class Variant(_Strict):
    """What a user asks for: repositories, and the bytes that preparing adds on disk."""

    repositories: Annotated[tuple[str, ...], Field(min_length=1)]
    prepared_bytes: Annotated[int, Field(ge=0)]
    purpose: Text


class Manifest(_Strict):
    """All repositories and variants by name."""

    format: Literal[1]
    repositories: dict[str, ModelRepository]
    variants: dict[str, Variant]

    @model_validator(mode="after")
    def _names_fit(self) -> "Manifest":
        for name in (*self.repositories, *self.variants):
            if not NAME.fullmatch(name) or name == "all":
                raise ValueError(f"'{name}' is not a usable name (a-z, 0-9, '.', '_', '-')")
        for name, variant in self.variants.items():
            for repository in variant.repositories:
                if repository not in self.repositories:
                    raise ValueError(
                        f"variant '{name}' names the unknown repository '{repository}'"
                    )
        return self

    def select(self, variant: str) -> dict[str, ModelRepository]:
        """Return the repositories of a variant, or every one for ``all``.

        Raises:
            UserError: there is no such variant.
        """
        if variant == "all":
            return dict(self.repositories)
        if variant not in self.variants:
            known = ", ".join([*self.variants, "all"])
            raise UserError(
                f"variant '{variant}' is not in the manifest", f"choose one of: {known}"
            )
        names = self.variants[variant].repositories
        return {name: self.repositories[name] for name in names}

    def prepared_bytes(self, variant: str) -> int:
        """Return what preparing adds on disk, in bytes, for a variant or for ``all``."""
        chosen = self.variants if variant == "all" else {variant: self.variants[variant]}
        return sum(entry.prepared_bytes for entry in chosen.values())


def read_manifest(path: Path) -> Manifest:
    """Read and validate one manifest file.

    Raises:
        UserError: the file cannot be read, is not JSON, or breaks a rule; names the entry.
    """
    fix = f"mend {path}, or remove it and run: qwen3090 models lock REPO@REV --out {path}"
    try:
        text = path.read_text(encoding="utf-8")
        return Manifest.model_validate(json.loads(text))
    except OSError as error:
        raise UserError(
            f"cannot read manifest {path}: {error.strerror}", "check --manifest"
        ) from None
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"manifest {path} is not JSON: {error}", fix) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "(top)"
        raise UserError(f"manifest {path}: {where}: {first['msg']}", fix) from None


def load_manifest(extra: Sequence[Path] = ()) -> Manifest:
    """Return the shipped manifest merged with the user's own files.

    Raises:
        UserError: a file is bad, or gives a name another content than an earlier one did.
    """
    merged = read_manifest(data_file("models.json"))
    for path in extra:
        added = read_manifest(path)
        for kind in ("repositories", "variants"):
            mine, theirs = getattr(merged, kind), getattr(added, kind)
            for name in theirs:
                if name in mine and mine[name] != theirs[name]:
                    raise UserError(
                        f"manifest {path} gives '{name}' ({kind}) another content than before",
                        f"rename '{name}' in {path}",
                    )
        merged = Manifest(
            format=1,
            repositories={**merged.repositories, **added.repositories},
            variants={**merged.variants, **added.variants},
        )
    return merged
