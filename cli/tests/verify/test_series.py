"""The next command of a failing series works: apply for missing patches, repair for damage."""

import pytest
from qwen3090.patches.verify import PatchState, Report
from qwen3090.verify import Status
from qwen3090.verify import series as module


def state(name: str, found: str) -> PatchState:
    return PatchState(f"{name}.patch", f"Title of {name}", found, "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("states", "outside", "cure"),
    [
        (["applied", "missing"], (), "qwen3090 patches apply"),
        (["missing", "altered"], (), "qwen3090 setup --repair"),
        (["missing"], ("vllm/config/cache.py: changed",), "qwen3090 setup --repair"),
    ],
)
def test_each_failure_names_what_mends_it(
    states: list[str], outside: tuple[str, ...], cure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = Report(
        states=[state(str(i), found) for i, found in enumerate(states)],
        outside=list(outside),
        notes=[],
    )
    monkeypatch.setattr(module, "inspect", lambda *_: report)
    monkeypatch.setattr(module, "default_tree", lambda: None)
    failed = [item for item in module.check_series() if item.status is Status.FAIL]
    assert failed
    assert {item.next for item in failed} == {cure}
