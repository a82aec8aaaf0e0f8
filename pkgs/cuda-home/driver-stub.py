"""Prints C source of a libcuda that has every function of cuda.h and does nothing.

usage: driver-stub.py cuda.h > stub.c
"""

import re
import sys
from pathlib import Path

STUB_LIBRARY = 34  # CUDA_ERROR_STUB_LIBRARY


def names(header: str) -> list[str]:
    """Return the symbols that code compiled with the header can ask for."""
    # A macro such as `#define cuMemAlloc cuMemAlloc_v2` decides which of the two a caller needs.
    found = set(re.findall(r"\bCUDAAPI\s+(cu\w+)\s*\(", header))
    found |= set(re.findall(r"^\s*#\s*define\s+cu\w+\s+(cu[A-Z]\w+)\s*$", header, re.MULTILINE))
    return sorted(found)


def main(path: str) -> None:
    """Print the source."""
    found = names(Path(path).read_text(encoding="utf-8"))
    if len(found) < 400:
        sys.exit(f"error: {path} declares only {len(found)} driver functions: not CUDA's cuda.h?")
    for name in found:
        print(f"int {name}(void) {{ return {STUB_LIBRARY}; }}")


if __name__ == "__main__":
    main(sys.argv[1])
