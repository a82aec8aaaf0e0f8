"""Makes the table in patches/README.md from the patches' headers, so that they agree."""

from __future__ import annotations

from pathlib import Path

from qwen3090.patches.errors import PatchError
from qwen3090.patches.files import replace_text
from qwen3090.patches.header import FIELDS
from qwen3090.patches.series import Series

BEGIN = "<!-- patches: begin (made by `qwen3090 patches table`) -->"
END = "<!-- patches: end -->"


def markdown(series: Series) -> str:
    """Return the table, a row a patch, ending with a newline."""
    heads = ["No.", "What", "Why", "Kind", "Upstream", "Retires when"]
    rows = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for patch in series.patches:
        link = f"[{patch.number}]({patch.name})"
        cells = [link, *(patch.fields.get(name, "") for name in FIELDS)]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def updated(text: str, series: Series, file: Path) -> str:
    """Return a README's text with the table between the markers as it must be.

    Raises:
        PatchError: the markers are not there once each, in order.
    """
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise PatchError(
            f"{file} has no place for the table",
            f"put these two lines into it: {BEGIN} and {END}",
        )
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    return f"{head}{BEGIN}\n{markdown(series)}{END}{tail}"


def update_readme(file: Path, series: Series) -> bool:
    """Write the table; return whether the file changed.

    Raises:
        PatchError: the file is missing or has no markers.
    """
    old = read_readme(file)
    new = updated(old, series, file)
    if new == old:
        return False
    replace_text(file, new.encode())
    return True


def read_readme(file: Path) -> str:
    """Return the README's text.

    Raises:
        PatchError: it cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PatchError(
            f"cannot read {file}: {error}", f"restore it: git checkout {file}"
        ) from error
