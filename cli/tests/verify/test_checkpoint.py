"""Each rule of a checkpoint is broken once, in a real prepared one, and FAILs by its name."""

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import qwen3090_prepare
import torch
from qwen3090.demo import TinyPaths, make
from qwen3090.verify import Finding, Status
from qwen3090.verify.catalogue import CHECKPOINT
from qwen3090.verify.checkpoint import check_checkpoint

HEAD = "model-00007-of-00007.safetensors"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyPaths:
    return make(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def prepared(tiny: TinyPaths, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("prepared") / "checkpoint"
    qwen3090_prepare.run(tiny.base, out, draft_vocab=tiny.draft_vocab)
    return out


@pytest.fixture
def copy(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared, tmp_path / "checkpoint"))


def found(directory: Path, **options: bool) -> dict[str, Finding]:
    return {each.check: each for each in check_checkpoint(directory, **options)}


def edit(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def config(change: Callable[[Any], None]) -> Callable[[Path], None]:
    return lambda directory: edit(directory / "config.json", change)


def header(tensor: str, **values: Any) -> Callable[[Path], None]:
    """Return a function that changes a tensor's entry in the header of whichever file has it."""

    def run(directory: Path) -> None:
        for path in directory.glob("*.safetensors"):
            data = path.read_bytes()
            (size,) = struct.unpack("<Q", data[:8])
            entries = json.loads(data[8 : 8 + size])
            if tensor in entries:
                entries[tensor] |= values
                text = json.dumps(entries, separators=(",", ":")).encode().ljust(size)
                path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])
                return
        raise AssertionError(f"no {tensor}")

    return run


def extra(directory: Path) -> None:
    """Add the plain head beside the packed one."""
    tensor = {"dtype": "BF16", "shape": [1, 1], "data_offsets": [0, 2]}
    text = json.dumps({"lm_head.weight": tensor}).encode()
    (directory / "other.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(2))


def ids(values: list[int], dtype: torch.dtype = torch.int64) -> Callable[[Path], None]:
    return lambda d: torch.save(torch.tensor(values, dtype=dtype), d / "mtp_draft_vocab_ids.pt")


def without_think(content: Any) -> None:
    content["added_tokens"] = [t for t in content["added_tokens"] if t["content"] != "<think>"]


def shorter(directory: Path) -> None:
    (directory / HEAD).write_bytes((directory / HEAD).read_bytes()[:-1])


def idle(content: Any) -> None:
    groups = content["quantization_config"]["config_groups"]
    groups["group_9"] = dict(groups["group_1"], targets=["re:.*other_head$"])


def bits(content: Any) -> None:
    content["quantization_config"]["config_groups"]["group_1"]["weights"]["num_bits"] = 4


BROKEN: dict[str, Callable[[Path], None]] = {
    "files": shorter,
    "manifest": lambda d: (d / "chat_template.jinja").write_text("other"),
    "config": lambda d: (d / "config.json").unlink(),
    "index": lambda d: edit(
        d / "model.safetensors.index.json", lambda c: c["weight_map"].pop("mtp.norm.weight")
    ),
    "missing": config(lambda c: c["text_config"].update(num_hidden_layers=9)),
    "duplicate": extra,
    "layout": header("lm_head.weight_shape", dtype="F64"),
    "shape": config(lambda c: c["text_config"].update(vocab_size=1)),
    "bits": config(bits),
    "targets": config(idle),
    "scale-dtype": header("lm_head.weight_scale", dtype="BF16"),
    "draft-vocab": ids([5, 3]),
    "tokenizer": lambda d: edit(d / "tokenizer.json", without_think),
    "end-tokens": lambda d: edit(
        d / "generation_config.json", lambda c: c.update(eos_token_id=[7])
    ),
}


def test_the_prepared_one_passes_with_its_bits(prepared: Path) -> None:
    seen = found(prepared, hashes=True)
    assert {each.status for each in seen.values()} == {Status.PASS}
    assert "every digest and rule holds" in seen["checkpoint.rules"].detail
    assert "head 8 bits, embedding 8 bits, MTP 8 bits" in seen["checkpoint.rules"].detail


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_fails_by_its_name(copy: Path, rule: str) -> None:
    BROKEN[rule](copy)
    finding = found(copy)[f"checkpoint.{rule}"]
    assert finding.status is Status.FAIL
    assert finding.next


@pytest.mark.parametrize(
    "change",
    [ids([]), ids([1, 1]), ids([0, 10**6]), ids([1, 2], torch.int32)],
    ids=["empty", "twice", "out of range", "int32"],
)
def test_a_draft_vocabulary_is_held_to_its_form(copy: Path, change: Any) -> None:
    change(copy)
    assert found(copy)["checkpoint.draft-vocab"].status is Status.FAIL


def test_plain_weights_that_are_no_floats_fail(tiny: TinyPaths, tmp_path: Path) -> None:
    base = Path(shutil.copytree(tiny.base, tmp_path / "base"))
    header("lm_head.weight", dtype="I16")(base)
    assert found(base)["checkpoint.dtype"].status is Status.FAIL


def test_a_plain_base_is_warned_of(tiny: TinyPaths) -> None:
    assert found(tiny.base)["checkpoint.plain"].status is Status.WARN


def test_a_path_that_names_a_method_fails(copy: Path) -> None:
    moved = copy.rename(copy.with_name("Qwen-DFlash2"))
    finding = found(moved)["checkpoint.path"]
    assert finding.status is Status.FAIL
    assert "'dflash'" in finding.detail


def test_one_flipped_bit_is_found_by_digests(copy: Path) -> None:
    data = bytearray((copy / HEAD).read_bytes())
    data[-1] ^= 1
    (copy / HEAD).write_bytes(data)
    assert found(copy)["checkpoint.rules"].status is Status.PASS
    assert found(copy, hashes=True)["checkpoint.manifest"].status is Status.FAIL


def test_every_rule_of_the_catalogue_is_broken_here() -> None:
    names = {check.name.removeprefix("checkpoint.") for check in CHECKPOINT.checks}
    elsewhere = {"checkpoint", "rules", "path", "dtype", "plain"}  # tests of their own
    assert names - elsewhere == set(BROKEN)
