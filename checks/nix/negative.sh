#!/usr/bin/env bash
# Negative controls of checks/nix.sh: each breaks a copy of the tree in one place, and the check that
# guards it must fail, with the message a user would need.
# usage: negative.sh TREE WORK PYTHON   (called by nix.sh, which makes WORK/standin)
set -euo pipefail
tree=$1 work=$2 python=$3
system=x86_64-linux

must_fail() { # must_fail WHAT CHECK MESSAGE   (the broken tree is $work/broken)
  if nix build --no-link -L "path:$work/broken#checks.$system.$2" --no-write-lock-file \
    --override-input nixpkgs "path:$work/standin" \
    --option extra-sandbox-paths "$work/wheelhouse" >"$work/said" 2>&1; then
    printf 'error: %s: the check %s passed\n' "$1" "$2" >&2
    exit 1
  fi
  if ! grep -qE -- "$3" "$work/said"; then
    printf 'error: %s: %s failed, but did not say "%s":\n' "$1" "$2" "$3" >&2
    tail -n 20 "$work/said" >&2
    exit 1
  fi
  printf '   %s: %s\n' "$1" "$(grep -E -m 1 -- "$3" "$work/said" | sed 's/^ *//' | cut -c 1-110)"
}
fresh() {
  rm -rf "$work/broken"
  cp -r "$tree" "$work/broken"
}

# The wheel is there, and its content is not what the lock says.
fresh
wheel=$(sed -nE 's/.*"file": "(tqdm-[^"]+)".*/\1/p' "$tree/nix/wheels.json" | head -n 1)
hash=$(sed -nE 's/.*"file": "tqdm-.*"sha256": "([0-9a-f]+)".*/\1/p' "$tree/nix/wheels.json" | head -n 1)
cp "$(nix-store --print-fixed-path sha256 "$hash" "$wheel")" "$work/wheelhouse/$wheel"
sed -i "s/$hash/$(printf '%064d' 1)/" "$work/broken/nix/wheels.json"
must_fail "a wrong hash" wheel-tree "hash mismatch in fixed-output derivation"

first=$(sed -n '/^[^#]/{p;q}' "$tree/patches/series")
fresh
"$python" - "$work/broken/patches/$first" <<'PYTHON'
import re, sys
path = sys.argv[1]
text = open(path, encoding="utf-8").read()
# The first context line of the first hunk, as if upstream had changed it.
changed = re.sub(r"(?m)(^@@ .*\n )", r"\1changed upstream: ", text, count=1)
assert changed != text
open(path, "w", encoding="utf-8").write(changed)
PYTHON
must_fail "a patch that no longer applies" series "patch $first does not apply"

fresh
"$python" - "$work/broken/patches/$first" <<'PYTHON'
import re, sys
path = sys.argv[1]
text = open(path, encoding="utf-8").read()
shift = lambda m: f"@@ -{int(m[1]) + 3},{m[2]} +{int(m[3]) + 3},{m[4]} @@"
changed = re.sub(r"(?m)^@@ -(\d+),(\d+) \+(\d+),(\d+) @@", shift, text, count=1)
assert changed != text
open(path, "w", encoding="utf-8").write(changed)
PYTHON
must_fail "a patch that applies three lines off" series "applies only with an offset or fuzz"

fresh
sed -i '/"librt.so.1"/d; /"libstdc++.so.6"/d' "$work/broken/pkgs/python-env/needed.json"
must_fail "a library that nothing brings" cuda-home "in no wheel and not allowed"
