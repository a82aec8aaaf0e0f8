"""Train the demo checkpoint's tokenizer: real byte-level BPE with the model's special tokens.

It is trained when the checkpoint is made, from a text in this package, so that no other
project's vocabulary is needed. Ids follow the model's order: text pieces, then the special
tokens, then padding up to the size of the tables.
"""

import json
from pathlib import Path
from typing import Any

from qwen3090.demo.dims import Dims

DATA = Path(__file__).resolve().parent / "data"

# In the model's order. True: special (never printed when special tokens are skipped).
SPECIAL: tuple[tuple[str, bool], ...] = (
    ("<|endoftext|>", True),
    ("<|im_start|>", True),
    ("<|im_end|>", True),
    ("<|object_ref_start|>", True),
    ("<|object_ref_end|>", True),
    ("<|box_start|>", True),
    ("<|box_end|>", True),
    ("<|quad_start|>", True),
    ("<|quad_end|>", True),
    ("<|vision_start|>", True),
    ("<|vision_end|>", True),
    ("<|vision_pad|>", True),
    ("<|image_pad|>", True),
    ("<|video_pad|>", True),
    ("<tool_call>", False),
    ("</tool_call>", False),
    ("<|fim_prefix|>", False),
    ("<|fim_middle|>", False),
    ("<|fim_suffix|>", False),
    ("<|fim_pad|>", False),
    ("<|repo_name|>", False),
    ("<|file_sep|>", False),
    ("<tool_response>", False),
    ("</tool_response>", False),
    ("<think>", False),
    ("</think>", False),
    ("<|audio_start|>", True),
    ("<|audio_end|>", True),
    ("<tts_pad>", True),
    ("<tts_text_bos>", True),
    ("<tts_text_eod>", True),
    ("<tts_text_bos_single>", True),
    ("<|audio_pad|>", True),
)

# Ids that a draft vocabulary must hold, whatever was counted.
FORCED = (
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>"),
    *("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"),
)

# How text is cut before BPE: words with their space, single digits, punctuation, line ends.
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def special_id(dims: Dims, text: str) -> int:
    """Return the id of a special token.

    Raises:
        ValueError: there is no such token.
    """
    return dims.bpe_tokens + [name for name, _ in SPECIAL].index(text)


def train(dims: Dims) -> Any:
    """Return a ``tokenizers.Tokenizer`` of exactly ``bpe_tokens`` pieces and the special tokens.

    Raises:
        ValueError: the text yields fewer pieces than asked for.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, trainers
    from tokenizers import pre_tokenizers as pre

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    split = pre.Split(Regex(_SPLIT), behavior="isolated", invert=False)
    tokenizer.pre_tokenizer = pre.Sequence(
        [split, pre.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=dims.bpe_tokens,
        show_progress=False,
        initial_alphabet=sorted(pre.ByteLevel.alphabet()),
    )
    text = (DATA / "corpus.txt").read_text(encoding="utf-8")
    tokenizer.train_from_iterator([text], trainer)
    if tokenizer.get_vocab_size() != dims.bpe_tokens:
        raise ValueError(
            f"corpus.txt yields {tokenizer.get_vocab_size()} pieces, {dims.bpe_tokens} are needed"
        )
    for name, special in SPECIAL:
        token = AddedToken(name, special=special, normalized=False)
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)([token])
    return tokenizer


def chat_template() -> str:
    """Return the chat template's text."""
    return (DATA / "chat_template.jinja").read_text(encoding="utf-8")


def tokenizer_files(dims: Dims, tokenizer: Any) -> dict[str, str]:
    """Return {file name: content} of the tokenizer files of a checkpoint."""
    special = [name for name, is_special in SPECIAL if is_special]
    config = {
        "add_prefix_space": False,
        "additional_special_tokens": special,
        "bos_token": None,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "errors": "replace",
        "model_max_length": dims.max_positions,
        "pad_token": "<|endoftext|>",
        "split_special_tokens": False,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": None,
    }
    return {
        "tokenizer.json": tokenizer.to_str(pretty=True),
        "tokenizer_config.json": json.dumps(config, indent=2) + "\n",
        "chat_template.jinja": chat_template(),
    }
