"""Before the locked packages are installed, a command says what to run, and shows no traceback."""

import subprocess
import sys

import pytest

BLOCK = """
import sys
sys.modules["numpy"] = sys.modules["torch"] = None
from qwen3090.main import main
sys.argv = ["qwen3090", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("arguments", [["demo"], ["prepare", "BASE", "--out", "OUT"]])
def test_a_package_that_is_missing_is_named(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCK, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "is not installed" in done.stderr
    assert "next: qwen3090 setup" in done.stderr
