"""Where models live by default: one place decides it, so that fetch, prepare and serve agree.

Layout of the state directory::

    models/base/          published checkpoint, whole and verified (marker .qwen3090.json)
    models/fast/          overlay files of the fast variant
    models/drafter/       DFlash2 drafter, W4A16
    models/drafter-bf16/  DFlash2 drafter, bf16
    models/.NAME.staging/ a fetch that is not finished; never loaded
    prepared/base/        prepared checkpoint (int8 head, embedding, MTP module)
    prepared/fast/        prepared checkpoint with the fast variant's files
    last-failure.json     why the server last ended, and how often in a row (serve/history.py)
"""

import os
from pathlib import Path

SYSTEM_STATE = Path("/var/lib/qwen3090")
STATE_VARIABLE = "QWEN3090_STATE"

# What a checkpoint variant is made of, and the drafter of each speculation that needs one.
PREPARED_VARIANTS = ("base", "fast")
DRAFTERS = {"dflash2": "drafter"}


def state_dir() -> Path:
    """Return the state directory.

    $QWEN3090_STATE; else /var/lib/qwen3090 when this user may write there (the service's own);
    else qwen3090 below $XDG_DATA_HOME or ~/.local/share. Nothing is created.
    """
    given = os.environ.get(STATE_VARIABLE, "")
    if given:
        return Path(given).expanduser().absolute()
    if os.access(SYSTEM_STATE, os.W_OK | os.X_OK):
        return SYSTEM_STATE
    data_home = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data_home) if data_home else Path("~/.local/share").expanduser()
    return base / "qwen3090"


def models_dir() -> Path:
    """Return the directory that holds one directory per fetched repository."""
    return state_dir() / "models"


def model_dir(name: str) -> Path:
    """Return the directory of one repository of the manifest: base, fast, drafter, ..."""
    return models_dir() / name


def prepared_dir(variant: str) -> Path:
    """Return the prepared checkpoint of a variant (``base`` or ``fast``): what ``serve`` loads."""
    return state_dir() / "prepared" / variant


def drafter_dir(speculation: str) -> Path | None:
    """Return the drafter's directory for a speculation method, or None when it needs none."""
    name = DRAFTERS.get(speculation)
    return model_dir(name) if name else None
