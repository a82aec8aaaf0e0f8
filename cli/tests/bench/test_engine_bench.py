"""The bench against the real engine on the CPU, and ``vllm bench serve`` against known timings."""

import json
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from qwen3090.demo import make, server
from qwen3090.main import cli

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("vllm")
    prepare = pytest.importorskip("qwen3090_prepare")
    folder: Path = tmp_path_factory.mktemp("demo")
    made = make(folder)
    prepare.run(made.base, folder / "prepared", draft_vocab=made.draft_vocab)
    return folder / "prepared"


@pytest.fixture(scope="module")
def words(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Serve the demo; return the options that name it."""
    folder = tmp_path_factory.mktemp("server")
    port, key_file = server.free_port(), folder / "key"
    key = server.write_key(key_file)
    argv = server.command(checkpoint, port, key_file)
    with server.running(argv, port, key, folder / "log"):
        pairs = {"model": checkpoint, "port": port, "api_key_file": key_file}
        sets = [f"{name}={value}" for name, value in pairs.items()]
        sets.append(f"served_name={server.SERVED_NAME}")
        yield ["--profile", "demo", *(part for item in sets for part in ("--set", item))]


def bench(words: list[str], out: Path, *more: object) -> dict[str, Any]:
    command = ["bench", *map(str, more), *words, "--out", str(out)]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads((out / "bench.json").read_text())
    return found


def test_the_demo_is_measured(words: list[str], tmp_path: Path) -> None:
    asked = ("chat", "ladder", "--output", 24, "--warmups", 0, "--repeats", 1, "--streams", "1,3")
    run = bench(words, tmp_path, *asked)
    chat, ladder = run["suites"]
    for row in chat["rows"]:
        found = {key: value["median"] for key, value in row["summary"].items()}
        assert found["output_tokens"] == 24 and found["cached_tokens"] == 0
        assert found["tokens_per_step"] == pytest.approx(4.0)  # the demo's drafts are all right
        assert 0 < found["ttft"] < found["e2e"]
        assert found["decode"] > found["e2e_rate"] > 0
        assert row["acceptance"] == pytest.approx([1.0] * 3)
    assert [row["name"] for row in ladder["rows"]] == ["1", "3"]
    assert [row["summary"]["ttft"]["n"] for row in ladder["rows"]] == [1, 3]
    for row in ladder["rows"]:
        assert row["summary"]["throughput"]["median"] > 0
        assert row["summary"]["tokens_per_step"]["median"] == pytest.approx(4.0)
    conditions = run["conditions"]
    (worker,) = conditions["server"]["engine"]["workers"]
    assert worker["series"]["hash"] == conditions["series"]["installed"]
    assert conditions["model"]["prepared.json"] and conditions["settings"]["context"] == 2048


def test_quality_of_the_demo(words: list[str], tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The quick brown fox jumps over the lazy dog. " * 8)
    command = ["bench", "quality", *words, "--residues", "2", "--text", str(text)]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 1, done.output  # a model that was never trained copies nothing
    assert "## residues: fail" in done.output and "text.txt, perplexity" in done.output


def test_vllm_bench_reports_what_was_sent(
    stub: Callable[..., Any], checkpoint: Path, tmp_path: Path
) -> None:
    sizes = [1, 2, 3, 4, 1, 2, 3, 4]
    target = stub(ttft=1.2, gap=0.15, sizes=sizes)
    words = ["--url", target.url, "--tokenizer", str(checkpoint)]
    asked = ("ladder", "--streams", 3, "--warmups", 1, "--repeats", 2)
    (suite,) = bench(words, tmp_path, *asked)["suites"]
    sent = target.sent()
    assert len({answer["prompt"] for answer in sent}) == len(sent) == 9
    first = [a["sent"][0][0] - a["received"] for a in sent[3:]]
    rate = [(sum(sizes) - 1) / (a["sent"][-1][0] - a["sent"][0][0]) for a in sent[3:]]
    (row,) = suite["rows"]
    found = {key: value["median"] for key, value in row["summary"].items()}
    assert found["ttft"] == pytest.approx(statistics.median(first), rel=0.02)
    assert found["decode"] == pytest.approx(statistics.median(rate), rel=0.02)
    assert found["tokens_per_step"] == pytest.approx(19 / 7)
    spans = [
        max(a["ended"] for a in part) - min(a["received"] for a in part)
        for part in (sent[3:6], sent[6:])
    ]
    rates = [3 * sum(sizes) / span for span in spans]
    assert found["throughput"] == pytest.approx(statistics.median(rates), rel=0.02)


def test_vllm_bench_with_a_failed_request(
    stub: Callable[..., Any], checkpoint: Path, tmp_path: Path
) -> None:
    target = stub(fault="500", after=1)
    words = ["--url", target.url, "--tokenizer", str(checkpoint), "--out", str(tmp_path / "out")]
    words += ["--streams", "2", "--warmups", "0", "--repeats", "1"]
    done = CliRunner().invoke(cli, ["bench", "ladder", *words])
    assert done.exit_code == 2 and "1 of 2 requests: " in done.output, done.output
    assert not (tmp_path / "out").exists()


def test_prefill_counts_what_was_sent(
    stub: Callable[..., Any], checkpoint: Path, tmp_path: Path
) -> None:
    target = stub(ttft=0.5)
    words = ["--url", target.url, "--tokenizer", str(checkpoint), "--lengths", "64"]
    (suite,) = bench(words, tmp_path, "prefill", "--repeats", 2)["suites"]
    assert len(target.sent()) == 3
    (row,) = suite["rows"]
    for sample, answer in zip(row["samples"], target.sent()[1:], strict=True):
        seconds = answer["sent"][0][0] - answer["received"]
        assert sample["prefill"] == pytest.approx(sample["prompt_tokens"] / seconds, rel=0.05)
