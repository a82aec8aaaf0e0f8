"""A counted draft vocabulary: right counts, forced tokens, honest coverage, reproducible files."""

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from qwen3090.commands.draft_vocab import cli
from qwen3090.errors import UserError
from qwen3090.vocabulary.count import FORCED, choose, coverage
from qwen3090.vocabulary.sources import documents

np = pytest.importorskip("numpy")
WORDS = [f"w{number}" for number in range(200)]


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """Write a word-level tokenizer: ids 0-199 words, 200-208 the special tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="w0"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens(list(FORCED))
    (tmp_path / "model").mkdir()
    made.save(str(tmp_path / "model" / "tokenizer.json"))
    return tmp_path / "model"


def run(tmp_path: Path, tokenizer: Path, *words: str) -> dict[str, Any]:
    out = tmp_path / "ids.pt"
    arguments = ["count", "--tokenizer", str(tokenizer), "--out", str(out), "--json", *words]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    report: dict[str, Any] = json.loads(result.output)
    return report


def refused(tokenizer: Path, *words: str) -> str:
    result = CliRunner().invoke(cli, ["count", "--tokenizer", str(tokenizer), *words])
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.output
    assert "next:" in result.output
    return result.output


def test_counts_and_coverage_by_hand(tmp_path: Path, tokenizer: Path) -> None:
    lines = [{"text": "w5 w5 w7"}, {"text": "w5 w9"}, {"text": "w5 w150 w150 w7"}]
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    report = run(tmp_path, tokenizer, str(file), "--size", "11", "--hold-every", "3")
    ids = json.loads((tmp_path / "ids.json").read_text())
    # The nine special tokens, then w5 (3 times) and w7 (once, the lower id of w7 and w9).
    assert ids == [5, 7, *range(200, 209)]
    assert report["tokens_counted"] == 5
    assert report["tokens_held_out"] == 4
    assert report["coverage"] == 0.5  # w5 and w7 of w5 w150 w150 w7
    assert report["never_counted"] == 0
    packed = struct.pack(f"<{len(ids)}q", *ids)
    assert report["sha256_of_ids"] == hashlib.sha256(packed).hexdigest()


def test_torch_file_is_what_the_engine_reads(tmp_path: Path, tokenizer: Path) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "a.txt"
    file.write_text("w1 w2 w3\n" * 50)
    run(tmp_path, tokenizer, str(file), "--size", "20")
    ids = torch.load(tmp_path / "ids.pt", weights_only=True)
    assert ids.dtype == torch.int64
    assert ids.shape == (20,)
    assert ids.tolist() == json.loads((tmp_path / "ids.json").read_text())
    assert (ids.diff() > 0).all()
    first = (tmp_path / "ids.pt").read_bytes()
    run(tmp_path, tokenizer, str(file), "--size", "20")
    assert (tmp_path / "ids.pt").read_bytes() == first


def test_prepare_reads_both_forms(tmp_path: Path, tokenizer: Path) -> None:
    vocab = pytest.importorskip("qwen3090_prepare.vocab")
    file = tmp_path / "a.txt"
    file.write_text("w1 w2 w3\n" * 50)
    run(tmp_path, tokenizer, str(file), "--size", "20")
    both = [vocab.read_ids(tmp_path / name, 209).tolist() for name in ("ids.pt", "ids.json")]
    assert both[0] == both[1]


def test_too_few_tokens_are_filled_up_and_said(tmp_path: Path, tokenizer: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('"w5 w9"\n[7, 7]\n')
    report = run(tmp_path, tokenizer, str(file), "--size", "15", "--hold-every", "100")
    assert report["never_counted"] == 3
    assert json.loads((tmp_path / "ids.json").read_text())[:6] == [0, 1, 2, 5, 7, 9]
    assert report["coverage"] is None


def test_each_file_has_its_own_coverage(tmp_path: Path, tokenizer: Path) -> None:
    common, rare = tmp_path / "common.jsonl", tmp_path / "rare.jsonl"
    common.write_text('{"text": "w1 w2"}\n' * 40)
    rare.write_text("".join(f'{{"text": "w{n}"}}\n' for n in range(20, 60)))
    report = run(tmp_path, tokenizer, str(common), str(rare), "--size", "11")
    assert [file["coverage"] for file in report["files"]] == [1.0, 0.0]
    assert report["files"][0]["documents"] == 40


def test_numpy_ids_in_one_and_two_dimensions(tmp_path: Path, tokenizer: Path) -> None:
    np.save(tmp_path / "one.npy", np.array([3, 3, 4]))
    np.save(tmp_path / "two.npy", np.array([[3, 3], [8, 8]], dtype=np.uint16))
    files = [str(tmp_path / "one.npy"), str(tmp_path / "two.npy")]
    report = run(tmp_path, tokenizer, *files, "--size", "12", "--hold-every", "2")
    assert [file["documents"] for file in report["files"]] == [1, 2]
    assert report["tokens_counted"] == 5


def test_usual_records_are_understood(tmp_path: Path) -> None:
    records = [
        {"output": "a"},
        {"choices": [{"message": {"role": "assistant", "content": "b"}}]},
        {"token_ids": [1, 2], "text": "not this"},
    ]
    file = tmp_path / "a.jsonl"
    file.write_text("\n\n".join(json.dumps(record) for record in records))
    found = list(documents(file, None))
    assert [document.text for document in found] == ["a", "b", None]
    assert found[2].ids == [1, 2]
    with pytest.raises(UserError, match=r"a\.jsonl:1 holds no output \(field 'x\.y'\)"):
        list(documents(file, "x.y"))


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("a.jsonl", '{"text": "w1"}\n{oops\n', "a.jsonl:2 is not JSON"),
        ("a.jsonl", '{"number": 5}\n', "a.jsonl:1 holds no output"),
        ("a.jsonl", "[1, 999]\n", "token id 999"),
        ("a.jsonl", "[-1]\n", "token id -1"),
        ("a.jsonl", "", "hold no tokens"),
        ("a.csv", "x", "neither of"),
        ("a.npy", "x", "not a NumPy array"),
    ],
)
def test_bad_input(tmp_path: Path, tokenizer: Path, name: str, content: str, word: str) -> None:
    file = tmp_path / name
    file.write_text(content)
    out = tmp_path / "ids.pt"
    assert word in refused(tokenizer, str(file), "--size", "20", "--out", str(out))
    assert not out.exists()


def test_bad_options(tmp_path: Path, tokenizer: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("w1")
    assert "209 ids" in refused(tokenizer, str(file), "--size", "4000")
    assert "forced" in refused(tokenizer, str(file), "--size", "3")
    assert "no token <x>" in refused(tokenizer, str(file), "--size", "20", "--force", "<x>")
    assert "must end in .pt" in refused(tokenizer, str(file), "--size", "20", "--out", "x.bin")
    assert "there is no" in refused(tmp_path, str(file), "--size", "20")


def test_choice_against_a_plain_reference() -> None:
    generator = np.random.default_rng(5)
    counts = generator.integers(0, 30, 1000)
    forced = [3, 999]
    ids, filled = choose(counts, 400, forced)
    rest = sorted((i for i in range(1000) if i not in forced), key=lambda i: (-counts[i], i))
    assert ids.tolist() == sorted([*forced, *rest[:398]])
    assert filled == sum(1 for i in rest[:398] if counts[i] == 0)
    assert coverage(counts, ids) == counts[ids].sum() / counts.sum()
