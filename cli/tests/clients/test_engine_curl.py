"""The curl command of the guide, as it stands there: only address and model are this server's."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from .served import NAME, Served

pytestmark = [pytest.mark.engine, pytest.mark.slow]
GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "clients.md"


def test_the_guides_command(served: Served) -> None:
    found = re.search(r"```console\n\$ (curl .*?)```", GUIDE.read_text(), re.DOTALL)
    assert found is not None
    command = found[1].replace("http://127.0.0.1:18020", served.url).replace("qwen3.8-27b", NAME)
    assert served.url in command and NAME in command
    shell = ["bash", "-c", command]
    environment = {**os.environ, "KEY": served.key}
    done = subprocess.run(shell, env=environment, capture_output=True, text=True, timeout=120)
    message = json.loads(done.stdout)["choices"][0]["message"]
    assert message["content"] or message["reasoning"]
    without = subprocess.run(
        shell, env={**environment, "KEY": "x"}, capture_output=True, text=True, timeout=120
    )
    assert json.loads(without.stdout)["error"]["code"] == "invalid_api_key"
