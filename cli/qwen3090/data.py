"""Where the data files are: inside the installed wheel, or in the repository when editable.

Every pin, hash and patch has one file (nix/*.json, patches/); this module is how Python finds it.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from qwen3090.errors import UserError

_PACKAGE = Path(__file__).resolve().parent
_REPOSITORY = _PACKAGE.parent.parent


def data_file(name: str) -> Path:
    """Return the path of ``pins.json``, ``wheels.json``, ``models.json`` or ``patches``.

    Raises:
        UserError: the installation lacks the file.
    """
    inside = _PACKAGE / "data" / name
    source = _REPOSITORY / ("patches" if name == "patches" else f"nix/{name}")
    for path in (inside, source):
        if path.exists():
            return path
    raise UserError(
        f"data file '{name}' is missing (looked at {inside} and {source})",
        "reinstall the package: pip install --force-reinstall ./cli",
    )


@cache
def load_json(name: str) -> dict[str, Any]:
    """Read one of the JSON data files; the result is shared, so do not change it."""
    loaded: dict[str, Any] = json.loads(data_file(name).read_text(encoding="utf-8"))
    return loaded


def repository_root() -> Path | None:
    """Return the checkout's root when this is an editable install, else None."""
    return _REPOSITORY if (_REPOSITORY / "nix" / "pins.json").exists() else None
