#!/usr/bin/env bash
# Applies a patch series with GNU patch, and refuses what patch itself would let pass: a hunk that
# fits only with fuzz, or at another line than the patch says.
# usage: apply-series.sh SERIES-DIRECTORY TREE
set -euo pipefail
series=$1 tree=$2

while read -r name _; do
  case $name in '' | '#'*) continue ;; esac
  # -N refuses a patch that is in already; no .orig files, which would be files of the package.
  if ! log=$(patch --directory="$tree" --strip=1 --fuzz=0 --forward --batch \
    --no-backup-if-mismatch <"$series/$name" 2>&1); then
    printf 'error: patch %s does not apply\n%s\n' "$name" "$log" >&2
    exit 1
  fi
  if grep -qE 'offset|fuzz' <<<"$log"; then
    printf 'error: patch %s applies only with an offset or fuzz\n%s\n' "$name" "$log" >&2
    printf '  next: qwen3090 patches refresh\n' >&2
    exit 1
  fi
  printf 'applied %s\n' "$name"
done <"$series/series"
