"""The tokenizer: special ids in the model's order, every text survives, the story is a chain."""

import pytest
from qwen3090.demo import story
from qwen3090.demo.dims import PUBLISHED, TINY
from qwen3090.demo.tokenizer import SPECIAL, special_id, train


def test_special_ids_at_the_published_size() -> None:
    wanted = {
        "<|endoftext|>": 248044,
        "<|im_start|>": 248045,
        "<|im_end|>": 248046,
        "<|vision_start|>": 248053,
        "<|image_pad|>": 248056,
        "<tool_call>": 248058,
        "</tool_response>": 248067,
        "<think>": 248068,
        "</think>": 248069,
        "<|audio_start|>": 248070,
        "<|audio_pad|>": 248076,
    }
    assert {name: special_id(PUBLISHED, name) for name in wanted} == wanted


def test_tokenizer_has_the_special_tokens_at_their_ids() -> None:
    tokenizer = train(TINY)
    for name, _ in SPECIAL:
        assert tokenizer.token_to_id(name) == special_id(TINY, name)
        assert tokenizer.encode(f"a{name}b").ids.count(special_id(TINY, name)) == 1
    assert tokenizer.get_vocab_size() == TINY.bpe_tokens + len(SPECIAL) <= TINY.vocab


@pytest.mark.parametrize("text", ["Hello, world!", "blåbærgrød 漢字 🙂", "a\n\n\tb  c\r\n", "0x7f"])
def test_any_text_survives(text: str) -> None:
    tokenizer = train(TINY)
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_the_story_is_said_from_the_prompt_on() -> None:
    tokenizer = train(TINY)
    told = story.build(TINY, tokenizer)
    token, said = tokenizer.encode("\n").ids[-1], []
    end, call = special_id(TINY, "<|im_end|>"), special_id(TINY, "<tool_call>")
    while token != end:
        token = int(told.successor[token])
        said.append(token)
    text = tokenizer.decode(said, skip_special_tokens=False)
    assert text == f"{story.REASONING}</think>\n\n{story.ANSWER}<|im_end|>"
    token, called = call, [call]
    while token != end:
        token = int(told.successor[token])
        called.append(token)
    text = tokenizer.decode(called, skip_special_tokens=False)
    assert text == "".join(story.CALL) + "<|im_end|>"
    assert {*said, *called} <= set(story.draft_vocabulary(TINY, told, []))


def test_a_text_that_repeats_a_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "ANSWER", "Hello! Hello again")
    with pytest.raises(ValueError, match="twice"):
        story.build(TINY, train(TINY))
