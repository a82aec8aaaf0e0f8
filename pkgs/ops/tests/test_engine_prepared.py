"""Prepared checkpoints on the real CPU engine: right weights, right text, drafts, clear refusals.

The reference is a dense copy of the same checkpoint, dequantized by a script of the tests' own.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

pytestmark = [pytest.mark.engine, pytest.mark.slow]

MTP = {"speculative_config": {"method": "mtp", "num_speculative_tokens": 3}}
TEXT = {"language_model_only": True}
LONG = [[3 + (7 * i) % 900 for i in range(600)], [5, 6, 7]]  # prefilled in chunks of 256
GREEDY = {
    "name": "greedy",
    "prompts": [[100, 101, 102], list(range(20, 60))],
    "params": {"temperature": 0, "max_tokens": 24, "logprobs": 1},
}
SEEDED = {
    "prompts": LONG,
    "params": {"temperature": 2.0, "top_p": 0.95, "top_k": 20, "seed": 7, "max_tokens": 12},
}


def as_causal(source: Path, out: Path) -> Path:
    """Copy a checkpoint with the text-only architecture: no vision tensors, no M-RoPE."""
    from safetensors import safe_open
    from safetensors.torch import save_file

    shutil.copytree(source, out, ignore=shutil.ignore_patterns("*.safetensors", "*index.json"))
    tensors = {}
    for shard in sorted(source.glob("*.safetensors")):
        with safe_open(shard, "pt") as file:
            names = [name for name in file.keys() if ".visual." not in name]  # noqa: SIM118
            tensors |= {name: file.get_tensor(name) for name in names}
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((source / "config.json").read_text())
    text = config["text_config"] | {"quantization_config": config["quantization_config"]}
    text["architectures"] = ["Qwen3_5ForCausalLM"]
    rope = text["rope_parameters"].items()
    text["rope_parameters"] = {key: value for key, value in rope if "mrope" not in key}
    (out / "config.json").write_text(json.dumps(text))
    return out


def with_short_ids(source: Path, out: Path) -> Path:
    """Copy a checkpoint and take the last id off its draft vocabulary."""
    shutil.copytree(source, out)
    ids = torch.load(out / "mtp_draft_vocab_ids.pt", weights_only=True)
    torch.save(ids[:-1].clone(), out / "mtp_draft_vocab_ids.pt")
    return out


@pytest.fixture(scope="module")
def checkpoints(
    demo: Path,
    prepare: Callable[..., Path],
    dense_twin: Callable[[Path], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:
    ids = demo / "overlay" / "mtp_draft_vocab_ids.pt"
    found = {f"int{b}": prepare(demo / "base", bits=b, draft_vocab=ids) for b in (8, 4)}
    found["fast"] = prepare(demo / "base", overlay=demo / "overlay")
    found |= {f"{name}-dense": dense_twin(path) for name, path in found.items()}
    copies = tmp_path_factory.mktemp("copies")
    found["causal"] = as_causal(found["int8"], copies / "causal")
    found["short-ids"] = with_short_ids(found["int8"], copies / "short-ids")
    return found


@pytest.fixture(scope="module")
def results(checkpoints: dict[str, Path], engine: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    def case(name: str, **more: Any) -> dict[str, Any]:
        model = str(checkpoints[more.pop("of", name)])
        requests = more.pop("requests", [GREEDY])
        return {"name": name, "model": model, "llm": TEXT | MTP | more, "requests": requests}

    seeded = [SEEDED | {"name": f"seeded{i}"} for i in (0, 1)]
    off = {"qwen3090": {"mtp_draft_vocab": False}}
    # tokens the model never says are equally likely: which one comes depends on the generator
    drafted = torch.load(checkpoints["int8"] / "mtp_draft_vocab_ids.pt", weights_only=True)
    unsaid = sorted(set(range(700)) - set(drafted.tolist()))[:64]
    level = {"name": "level", "prompts": LONG, "params": SEEDED["params"] | {"top_k": 0}}
    level["params"] |= {"allowed_token_ids": unsaid}
    plain = case("plain", of="int8", requests=[GREEDY, level])
    plain["llm"] = TEXT | {"max_num_batched_tokens": 256}
    whole = case("whole", of="int8", requests=[level])
    whole["llm"] = TEXT
    causal = case("causal")
    causal["llm"] = MTP
    return engine(
        [
            case("int8", requests=[GREEDY, *seeded], max_num_batched_tokens=256),
            case("int8-dense"),
            case("int4", requests=[GREEDY, *seeded], max_num_batched_tokens=256),
            case("int4-dense"),
            case("fast"),
            case("fast-dense"),
            case("off", of="int8", additional_config=off),
            plain,
            whole,
            causal,
            case("short-ids"),
        ]
    )


def result(results: dict[str, Any], name: str) -> dict[str, Any]:
    assert "error" not in results[name], results[name]["error"][:600]
    found: dict[str, Any] = results[name]
    return found


@pytest.mark.parametrize("name", ["int8", "int4", "fast"])
def test_greedy_text_equals_the_dense_reference(results: dict[str, Any], name: str) -> None:
    ours, dense = result(results, name)["greedy"], result(results, f"{name}-dense")["greedy"]
    assert ours["tokens"] == dense["tokens"]
    for mine, reference in zip(ours["logprobs"], dense["logprobs"], strict=True):
        assert mine == pytest.approx(reference, abs=0.1)


@pytest.mark.parametrize("name", ["int8", "int4", "fast"])
def test_every_layer_computes_what_the_dense_one_does(results: dict[str, Any], name: str) -> None:
    ours, dense = result(results, name)["probes"], result(results, f"{name}-dense")["probes"]
    layers = {"embed", "head", *(f"drafter.{n}" for n in ("fc", "qkv", "o", "gate_up", "down"))}
    assert layers <= ours.keys()
    for layer in sorted(layers):
        mine, reference = torch.tensor(ours[layer]), torch.tensor(dense[layer])
        assert (mine - reference).abs().max() <= 0.02 * reference.abs().max(), layer


@pytest.mark.parametrize("name", ["int8", "int4", "fast"])
def test_drafts_come_from_the_draft_vocabulary(
    results: dict[str, Any], checkpoints: dict[str, Path], name: str
) -> None:
    ids = torch.load(checkpoints[name] / "mtp_draft_vocab_ids.pt", weights_only=True)
    ours, dense = result(results, name)["probes"], result(results, f"{name}-dense")["probes"]
    for row, reference, top in zip(
        ours["draft_logits"], dense["draft_logits"], ours["draft_top"], strict=True
    ):
        assert [i for i, value in enumerate(row) if value is not None] == ids.tolist()
        mine = torch.tensor([row[i] for i in ids])
        full = torch.tensor(reference)
        assert len(row) == len(reference)
        assert (mine - full[ids]).abs().max() <= 0.02 * full.abs().max()
        assert top == [int(ids[mine.argmax()])]
    assert result(results, name)["facts"]["draft_vocab"] == len(ids)


@pytest.mark.parametrize("name", ["int8", "int4", "fast", "causal"])
def test_drafts_are_accepted_and_do_not_change_the_text(results: dict[str, Any], name: str) -> None:
    ours = result(results, name)
    assert ours["accepted"] > 0.5 * ours["drafted"] > 0
    assert ours["greedy"]["tokens"] == result(results, "plain")["greedy"]["tokens"]


def test_the_drafter_keeps_no_copy_of_embedding_and_head(results: dict[str, Any]) -> None:
    for name in ("int8", "int4", "fast", "causal"):
        facts = result(results, name)["facts"]
        assert facts["embed"] == "CompressedTensorsEmbeddingWNA16Int"
        assert facts["shares_embed"]
        assert facts["shares_head"]


def test_a_packed_table_takes_half_the_memory_or_less(results: dict[str, Any]) -> None:
    dense = result(results, "int8-dense")["facts"]["embed_bytes"]
    assert result(results, "int8")["facts"]["embed_bytes"] < 0.52 * dense
    assert result(results, "int4")["facts"]["embed_bytes"] < 0.27 * dense


def test_switched_off_the_whole_head_drafts(results: dict[str, Any]) -> None:
    off = result(results, "off")
    assert "draft_vocab" not in off["facts"]
    assert all(value is not None for row in off["probes"]["draft_logits"] for value in row)
    assert off["greedy"]["tokens"] == result(results, "plain")["greedy"]["tokens"]


@pytest.mark.parametrize("name", ["int8", "int4"])
def test_seeded_sampling_with_drafts_repeats(results: dict[str, Any], name: str) -> None:
    ours = result(results, name)
    assert ours["seeded0"]["tokens"] == ours["seeded1"]["tokens"]


def test_a_prefill_in_chunks_leaves_a_seeded_generator_alone(results: dict[str, Any]) -> None:
    chunks, whole = result(results, "plain")["level"], result(results, "whole")["level"]
    assert chunks["tokens"] == whole["tokens"]
    assert len(set(whole["tokens"][0])) > 6


def test_ids_that_do_not_fit_the_head_are_refused(results: dict[str, Any]) -> None:
    error = results["short-ids"]["error"]
    assert "mtp_draft_vocab_ids.pt" in error
    assert "qwen3090 prepare" in error
