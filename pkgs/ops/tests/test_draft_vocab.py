"""The draft vocabulary: exact scatter, support exactly the ids, and refusals that name the file."""

from pathlib import Path

import pytest
import torch
from qwen3090_ops.draft_vocab import IDS_FILE, DraftVocab, ids_path, load_ids

VOCAB = 640


def save(folder: Path, value: object) -> Path:
    path = folder / IDS_FILE
    torch.save(value, path)
    return path


@pytest.fixture
def vocabulary(tmp_path: Path) -> DraftVocab:
    ids = torch.randperm(VOCAB, generator=torch.Generator().manual_seed(1))[:64].sort().values
    return DraftVocab(save(tmp_path, ids), VOCAB)


def head(rows: int, fields: tuple[str, ...] = ("weight_packed", "weight_scale")) -> torch.nn.Module:
    module = torch.nn.Module()
    shapes = {"weight_packed": (rows, 32), "weight_scale": (rows, 1), "weight_shape": (2,)}
    for field in fields:
        value = torch.zeros(shapes[field], dtype=torch.int32)
        module.register_parameter(field, torch.nn.Parameter(value, requires_grad=False))
    return module


def test_full_logits_equal_the_full_head_on_the_ids_and_minus_infinity_elsewhere(
    vocabulary: DraftVocab,
) -> None:
    generator = torch.Generator().manual_seed(2)
    weight = torch.randn(VOCAB, 96, generator=generator)
    hidden = torch.randn(5, 96, generator=generator)
    logits = hidden @ weight[vocabulary.ids].T
    full = vocabulary.full_logits(logits)
    assert torch.equal(full[:, vocabulary.ids], logits)
    outside = torch.ones(VOCAB, dtype=torch.bool)
    outside[vocabulary.ids] = False
    assert bool((full[:, outside] == float("-inf")).all())
    support = (full / 0.7).softmax(-1) > 0
    assert torch.equal(support.any(0).nonzero().flatten(), vocabulary.ids)
    assert torch.equal(full.argmax(-1), vocabulary.full_ids(logits.argmax(-1)))


def test_full_logits_share_no_memory(vocabulary: DraftVocab) -> None:
    first = vocabulary.full_logits(torch.zeros(2, vocabulary.size))
    kept = first.clone()
    vocabulary.full_logits(torch.ones(2, vocabulary.size)).div_(2)
    assert torch.equal(first, kept)


@pytest.mark.parametrize(
    ("config", "used"),
    [
        ({}, True),
        (None, True),
        ({"other": 1}, True),
        ({"qwen3090": {}}, True),
        ({"qwen3090": {"mtp_draft_vocab": True}}, True),
        ({"qwen3090": {"mtp_draft_vocab": False}}, False),
    ],
)
def test_switch(tmp_path: Path, config: object, used: bool) -> None:
    assert ids_path(str(tmp_path), config) is None
    path = save(tmp_path, torch.arange(3))
    assert ids_path(str(tmp_path), config) == (path if used else None)


@pytest.mark.parametrize(
    "config",
    [
        {"qwen3090": {"mtp_draft_vocab": "no"}},
        {"qwen3090": {"mtp_draft_vocab": 0}},
        {"qwen3090": 1},
    ],
)
def test_a_switch_of_the_wrong_type_is_refused(tmp_path: Path, config: object) -> None:
    save(tmp_path, torch.arange(3))
    with pytest.raises(ValueError, match="qwen3090"):
        ids_path(str(tmp_path), config)


@pytest.mark.parametrize(
    "value",
    [
        torch.arange(4, dtype=torch.int32),
        torch.arange(4).view(2, 2),
        torch.tensor([3, 1, 2]),
        torch.tensor([1, 1, 2]),
        torch.tensor([], dtype=torch.int64),
        torch.tensor([-1, 2]),
        torch.tensor([1, VOCAB]),
        [1, 2, 3],
    ],
)
def test_a_bad_list_is_refused_by_name(tmp_path: Path, value: object) -> None:
    path = save(tmp_path, value)
    with pytest.raises(ValueError, match=r"mtp_draft_vocab_ids\.pt.*qwen3090 prepare"):
        load_ids(path, VOCAB)


def test_a_truncated_file_is_refused_by_name(tmp_path: Path) -> None:
    path = save(tmp_path, torch.arange(4))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"mtp_draft_vocab_ids\.pt cannot be read"):
        load_ids(path, VOCAB)


def test_a_head_that_fits_is_accepted(vocabulary: DraftVocab) -> None:
    module = head(64, ("weight_packed", "weight_scale", "weight_shape"))
    vocabulary.check_tensor("mtp.draft_lm_head.weight_packed", torch.zeros(64, 32), module)
    vocabulary.check_tensor("mtp.draft_lm_head.weight_scale", torch.zeros(64, 1), module)
    vocabulary.check_tensor("mtp.draft_lm_head.weight_shape", torch.tensor([64, 128]), module)
    vocabulary.finish_loading(module)


@pytest.mark.parametrize(
    ("field", "tensor", "message"),
    [
        ("weight_packed", torch.zeros(63, 32), "63 rows"),
        ("weight_packed", torch.zeros(64, 16), "other bits"),
        ("weight_shape", torch.tensor([65, 128]), "65 rows"),
        ("weight", torch.zeros(64, 128), "other parameters"),
    ],
)
def test_a_head_that_does_not_fit_is_refused(
    vocabulary: DraftVocab, field: str, tensor: torch.Tensor, message: str
) -> None:
    module = head(64, ("weight_packed", "weight_scale", "weight_shape"))
    with pytest.raises(ValueError, match=message):
        vocabulary.check_tensor(f"mtp.draft_lm_head.{field}", tensor, module)


def test_a_missing_head_is_refused(vocabulary: DraftVocab) -> None:
    module = head(64)
    vocabulary.check_tensor("mtp.draft_lm_head.weight_packed", torch.zeros(64, 32), module)
    with pytest.raises(ValueError, match=r"lacks mtp\.draft_lm_head\.weight_scale"):
        vocabulary.finish_loading(module)
