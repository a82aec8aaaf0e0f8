"""The disk check that comes before the first byte: download, then what preparing adds."""

import shutil
from collections.abc import Callable
from pathlib import Path

from qwen3090.errors import UserError
from qwen3090.models.progress import human

MARGIN = 64 << 20  # for markers, the journal and what else writes meanwhile


def check_room(
    directory: Path,
    download: int,
    prepared: int,
    need_prepared: bool,
    say: Callable[[str], None],
) -> int:
    """Compare what is needed with what is free, in bytes; return what is free.

    Args:
        directory: on the file system that is written to.
        download: bytes still to download.
        prepared: bytes that preparing adds later.
        need_prepared: refuse when the sum does not fit; otherwise only say so.
        say: prints a warning.

    Raises:
        UserError: it does not fit; names the numbers.
    """
    free = shutil.disk_usage(directory).free
    must = download + (prepared if need_prepared else 0)
    if must and must + MARGIN > free:
        raise UserError(
            f"{directory} has {human(free)} free; needed: {human(download)} to download"
            f" + {human(prepared)} to prepare = {human(download + prepared)}",
            f"free {human(must + MARGIN - free)} or more (qwen3090 models gc), or use another"
            " disk: --dir DIR, or QWEN3090_STATE",
        )
    if download + prepared + MARGIN > free:
        say(
            f"the download fits, preparing will not: {human(prepared)} more are needed then,"
            f" {human(free - download)} will be left"
        )
    return free
