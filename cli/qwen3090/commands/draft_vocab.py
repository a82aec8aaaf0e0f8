"""``qwen3090 draft-vocab``: count a draft vocabulary from the model's own outputs (click layer)."""

import json
from pathlib import Path
from typing import Any

import click

from qwen3090.errors import UserError

CURVE = (8_192, 16_384, 24_576, 32_768, 40_960, 49_152, 65_536)


@click.group(short_help="Make a draft vocabulary of your own")
def cli() -> None:
    """Make a draft vocabulary of your own: the tokens that MTP may draft."""


@cli.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--tokenizer",
    "tokenizer_path",
    required=True,
    type=click.Path(path_type=Path),
    help="The checkpoint's directory, or its tokenizer.json.",
)
@click.option(
    "--out",
    default="mtp_draft_vocab_ids.pt",
    show_default=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write; the same list is written as .json beside it.",
)
@click.option("--size", default=40_960, show_default=True, type=click.IntRange(1), help="Ids.")
@click.option("--field", help="Place of the output in a JSON record, e.g. choices.0.text.")
@click.option(
    "--hold-every",
    default=10,
    show_default=True,
    type=click.IntRange(2),
    help="Every Nth document is not counted, and measures the coverage.",
)
@click.option("--force", "extra", multiple=True, metavar="TOKEN", help="A further token to have.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def count(
    files: tuple[Path, ...],
    tokenizer_path: Path,
    out: Path,
    size: int,
    field: str | None,
    hold_every: int,
    extra: tuple[str, ...],
    as_json: bool,
) -> None:
    """Count the tokens of FILES and write the commonest as a draft vocabulary.

    FILES hold what the model itself wrote: .jsonl (a record, a text or a list of token ids a
    line), .txt, .md, or .npy with token ids.
    """
    from qwen3090.vocabulary.count import (
        FORCED,
        choose,
        count_file,
        coverage,
        forced_ids,
        load_tokenizer,
    )
    from qwen3090.vocabulary.write import ids_sha256, write_ids

    tokenizer = load_tokenizer(tokenizer_path)
    vocabulary = tokenizer.get_vocab_size(with_added_tokens=True)
    if size > vocabulary:
        raise UserError(
            f"--size {size} is more than the tokenizer's {vocabulary} ids", f"--size {vocabulary}"
        )
    forced = forced_ids(tokenizer, (*FORCED, *extra))
    if len(forced) > size:
        raise UserError(f"--size {size} is less than the {len(forced)} forced tokens", "raise it")
    counts = [
        count_file(path, tokenizer, vocabulary, field=field, hold_every=hold_every)
        for path in files
    ]
    counted = sum((entry.counted for entry in counts[1:]), counts[0].counted.copy())
    held_out = sum((entry.held_out for entry in counts[1:]), counts[0].held_out.copy())
    if not counted.sum():
        raise UserError("the files hold no tokens", "give outputs of the model")
    ids, filled = choose(counted, size, forced)
    written = write_ids(out, ids)
    report = {
        "size": size,
        "forced": len(forced),
        "never_counted": filled,
        "distinct": int((counted > 0).sum()),
        "tokens_counted": int(counted.sum()),
        "tokens_held_out": int(held_out.sum()),
        "coverage": coverage(held_out, ids),
        "files": [
            {
                "path": str(entry.path),
                "documents": entry.documents,
                "tokens": int(entry.counted.sum() + entry.held_out.sum()),
                "coverage": coverage(entry.held_out, ids),
            }
            for entry in counts
        ],
        "coverage_by_size": {
            rows: coverage(held_out, choose(counted, rows, forced)[0])
            for rows in CURVE
            if len(forced) <= rows <= vocabulary
        },
        "sha256_of_ids": ids_sha256(ids),
        "written": [str(path) for path in written],
    }
    click.echo(json.dumps(report, indent=1) if as_json else _text(report))


def _percent(value: float | None) -> str:
    return "nothing held out" if value is None else f"{100 * value:.2f} %"


def _text(report: dict[str, Any]) -> str:
    lines = [
        f"counted {report['tokens_counted']:,} tokens ({report['distinct']:,} distinct), held out "
        f"{report['tokens_held_out']:,}",
        f"chose {report['size']:,} ids: {report['forced']} forced, "
        f"{report['never_counted']:,} never seen (the lowest free ids)",
        f"coverage of the held-out tokens: {_percent(report['coverage'])}",
    ]
    for entry in report["files"]:
        lines.append(
            f"  {entry['path']}: {_percent(entry['coverage'])} "
            f"({entry['documents']:,} documents, {entry['tokens']:,} tokens)"
        )
    curve = ", ".join(f"{k:,}: {_percent(v)}" for k, v in report["coverage_by_size"].items())
    if curve:
        lines.append(f"coverage by size: {curve}")
    lines += [f"wrote {path}" for path in report["written"]]
    return "\n".join(lines)
