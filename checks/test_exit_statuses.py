"""The exit statuses that are written by hand are those of exit_codes.py."""

import re
from pathlib import Path

from qwen3090.serve import exit_codes

ROOT = Path(__file__).resolve().parent.parent


def test_the_unit_in_the_guide_does_not_repeat_what_fails_again() -> None:
    text = (ROOT / "docs/guide/without-nix.md").read_text()
    (line,) = re.findall(r"^RestartPreventExitStatus=(.*)$", text, re.M)
    assert [int(word) for word in line.split()] == [2, *sorted(exit_codes.PERMANENT)]


def test_every_status_has_a_meaning_and_its_own_number() -> None:
    named = {
        value
        for name, value in vars(exit_codes).items()
        if name.isupper() and isinstance(value, int)
    }
    assert named == set(exit_codes.MEANING)
    assert named >= exit_codes.PERMANENT
