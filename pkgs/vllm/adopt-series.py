"""Proves that a tree is the wheel plus the series, and writes the marker that says so.

usage: adopt-series.py SERIES-DIRECTORY TREE   (GNU patch has applied the series already)
"""

import sys
from pathlib import Path

from qwen3090.errors import UserError
from qwen3090.patches import apply, inspect, load_series


def main(series_directory: str, tree: str) -> int:
    """Return 0 when every patch is in and nothing else differs from the wheel."""
    series = load_series(Path(series_directory))
    outcome = apply(Path(tree), series)
    report = inspect(Path(tree), series)
    problems = [f"{s.name} is {s.state}: {s.detail}" for s in report.states if s.state != "applied"]
    problems += report.outside + report.notes
    if not outcome.adopted and outcome.changed:
        problems.append(f"GNU patch left these for us to change: {', '.join(outcome.changed)}")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except UserError as error:
        sys.exit(f"error: {error.format_message()}")
