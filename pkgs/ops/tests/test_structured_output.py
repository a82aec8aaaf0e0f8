"""Grammars under speculation: blocks of drafts that cross the grammar's end or its beginning.

vLLM's own manager and backends, with a tokenizer of single bytes and the model's markers.
"""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SCHEMA = '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}'
DRAFTS = 4
BACKENDS = ["xgrammar", "guidance"]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    pytest.importorskip("vllm")
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bare = Tokenizer(models.BPE({c: i for i, c in enumerate(alphabet)}, []))
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=bare, eos_token="<|im_end|>")
    made.add_tokens([AddedToken(t, special=False) for t in ("<think>", "</think>")])
    return made


@pytest.fixture
def manager(tokenizer: Any) -> Any:
    """A manager without its VllmConfig: what its methods read is set by hand."""
    import torch
    from vllm.reasoning import ReasoningParserManager
    from vllm.v1.structured_output import StructuredOutputManager

    made = object.__new__(StructuredOutputManager)
    made.vllm_config = SimpleNamespace(
        num_speculative_tokens=DRAFTS,
        scheduler_config=SimpleNamespace(max_num_seqs=2),
        model_config=SimpleNamespace(is_diffusion=False),
        speculative_config=SimpleNamespace(num_speculative_tokens=DRAFTS),
        structured_outputs_config=SimpleNamespace(
            disable_any_whitespace=False, disable_additional_properties=False
        ),
    )
    made.tokenizer = tokenizer
    made.enable_in_reasoning = False
    made.reasoner_cls = ReasoningParserManager.get_reasoning_parser("qwen3")
    made.fill_bitmask_parallel_threshold = 128
    made._grammar_bitmask = None
    made._full_mask = torch.tensor(-1, dtype=torch.int32)
    return made


def started(manager: Any, name: str, reasoning_ended: bool = True) -> Any:
    """Return a request whose grammar was compiled by backend ``name``."""
    from vllm.v1.structured_output.backend_guidance import GuidanceBackend
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions
    from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend

    tokenizer = manager.tokenizer
    kind = {"xgrammar": XgrammarBackend, "guidance": GuidanceBackend}[name]
    manager.backend = kind(manager.vllm_config, tokenizer, len(tokenizer))
    grammar = manager.backend.compile_grammar(
        StructuredOutputOptions.JSON, SCHEMA, stop_token_ids={tokenizer.eos_token_id}
    )
    structured = SimpleNamespace(
        grammar=grammar,
        reasoner=None,
        reasoning_parser_kwargs=None,
        reasoning_ended=reasoning_ended,
        reasoning_end_token_index=None,
    )
    prompt = tokenizer.encode("<think>")
    return SimpleNamespace(
        structured_output_request=structured,
        use_structured_output=True,
        all_token_ids=list(prompt),
        prompt_token_ids=list(prompt),
    )


def masks(manager: Any, request: Any, drafts: list[int]) -> list[set[int]]:
    """Return the ids that each row of the window allows."""
    import numpy as np

    rows = manager.grammar_bitmask({"r": request}, ["r"], {"r": drafts})
    assert rows.shape[0] == len(drafts) + 1
    bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")
    return [set(np.flatnonzero(row[: len(manager.tokenizer)]).tolist()) for row in bits]


@pytest.mark.parametrize("name", BACKENDS)
def test_a_block_may_cross_the_end_of_the_grammar(manager: Any, name: str) -> None:
    request = started(manager, name)
    grammar, encode = request.structured_output_request.grammar, manager.tokenizer.encode
    document, eos = encode('{"a": 1}'), manager.tokenizer.eos_token_id
    assert grammar.accept_tokens("r", document[:-1])
    assert grammar.accept_tokens("r", [document[-1], eos, *encode("xy")])
    assert grammar.is_terminated()
    everything = set(range(len(manager.tokenizer)))
    assert masks(manager, request, encode("xy")) == [everything] * 3


@pytest.mark.parametrize("name", BACKENDS)
def test_a_request_may_go_on_after_the_end_of_the_grammar(manager: Any, name: str) -> None:
    """As with ignore_eos, or min_tokens beyond it."""
    request = started(manager, name)
    grammar, encode = request.structured_output_request.grammar, manager.tokenizer.encode
    assert grammar.accept_tokens("r", encode('{"a": 1}'))
    assert not grammar.is_terminated()
    assert grammar.accept_tokens("r", [manager.tokenizer.eos_token_id])
    assert grammar.accept_tokens("r", encode("xy"))
    assert grammar.accept_tokens("r", [manager.tokenizer.eos_token_id])


@pytest.mark.parametrize("name", BACKENDS)
def test_drafts_past_the_end_are_dropped_and_the_grammar_stays_where_it_was(
    manager: Any, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    request = started(manager, name)
    grammar, encode = request.structured_output_request.grammar, manager.tokenizer.encode
    document, eos = encode('{"a": 1}'), manager.tokenizer.eos_token_id
    assert grammar.accept_tokens("r", document[:-1])
    drafts = [document[-1], eos, *encode("xy")]
    assert grammar.validate_tokens(drafts) == drafts[:2]
    rows = masks(manager, request, [*drafts[:2], -1, -1])
    assert document[-1] in rows[0]
    assert eos in rows[1]
    assert document[-1] not in rows[1]
    assert not grammar.is_terminated()
    assert masks(manager, request, [])[0] == rows[0]
    assert "terminated" not in capfd.readouterr().err


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("after", ["\n\n", "```", '{"b'])
def test_drafts_after_the_reasoning_need_not_fit(
    manager: Any, name: str, after: str, caplog: pytest.LogCaptureFixture
) -> None:
    """They were made without a mask. Rows before the first misfit are masked; nothing is logged."""
    request = started(manager, name, reasoning_ended=False)
    encode = manager.tokenizer.encode
    drafts = encode("</think>" + after)
    with caplog.at_level(logging.WARNING):
        rows = masks(manager, request, drafts)
    assert not caplog.records
    assert rows[0] == set(range(len(manager.tokenizer)))
    fits = 2 if after.startswith('{"') else 0
    for row, text in zip(rows[1:], ["{", '"', "a"], strict=False):
        assert encode(text)[0] in row
        assert encode("`")[0] not in row
        if fits == 0:
            break
        fits -= 1
    # The misfit did not spoil the grammar.
    grammar = request.structured_output_request.grammar
    assert grammar.accept_tokens("r", encode('{"a": 1}'))
    assert grammar.accept_tokens("r", [manager.tokenizer.eos_token_id])
