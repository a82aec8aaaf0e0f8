"""Structured output with speculation, end to end: what follows a grammar's end, or the reasoning.

The demo checkpoint thinks in a fixed text, then answers; a schema makes its answer an object.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SCHEMA = {
    "type": "object",
    "properties": {"fits": {"enum": ["yes", "no"]}, "parts": {"enum": [1, 2]}},
    "required": ["fits", "parts"],
    "additionalProperties": False,
}
BACKENDS = ["xgrammar", "guidance"]
TURN = "<|im_start|>user\nDoes it fit?<|im_end|>\n<|im_start|>assistant\n<think>\n"


@pytest.fixture(scope="module")
def tokenizer(demo: Path) -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    return tokenizers.Tokenizer.from_file(str(demo / "base" / "tokenizer.json"))


@pytest.fixture(scope="module")
def results(
    demo: Path,
    tokenizer: Any,
    prepare: Callable[..., Path],
    engine: Callable[..., dict[str, Any]],
) -> dict[str, Any]:
    turns = {"quiet": TURN + "\n</think>\n\n", "thinking": TURN}
    params = {
        "stops": {"ignore_eos": False, "max_tokens": 50},
        "goes-on": {"max_tokens": 50},
    }
    requests = [
        {
            "name": f"{turn} {name}",
            "prompts": [tokenizer.encode(text, add_special_tokens=False).ids],
            "params": {"temperature": 0, **asked},
            "json": SCHEMA,
        }
        for turn, text in turns.items()
        for name, asked in params.items()
    ]
    case = {"model": str(prepare(demo / "base", bits=8)), "requests": requests}
    llm = {
        "language_model_only": True,
        "speculative_config": {"method": "mtp", "num_speculative_tokens": 3},
    }
    grammar = {"reasoning_parser": "qwen3", "disable_any_whitespace": True}
    return engine(
        [
            {"name": name, "llm": llm | {"structured_outputs_config": grammar | {"backend": name}}}
            | case
            for name in BACKENDS
        ]
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("turn", ["quiet", "thinking"])
@pytest.mark.parametrize(("name", "ended"), [("stops", "stop"), ("goes-on", "length")])
def test_the_answer_fits_the_schema_and_ends_as_asked(
    results: dict[str, Any], tokenizer: Any, backend: str, turn: str, name: str, ended: str
) -> None:
    assert "error" not in results[backend], results[backend]["error"]
    answer = results[backend][f"{turn} {name}"]
    text = tokenizer.decode(answer["tokens"][0], skip_special_tokens=False)
    answered = text.partition("</think>")[2] if turn == "thinking" else text
    document, *rest = answered.split("<|im_end|>")
    assert set(json.loads(document)) == {"fits", "parts"}
    assert answer["ended"] == [ended]
    assert bool("".join(rest)) is (name == "goes-on")


@pytest.mark.parametrize("backend", BACKENDS)
def test_drafts_are_accepted(results: dict[str, Any], backend: str) -> None:
    assert results[backend]["accepted"] > 10
