#!/usr/bin/env bash
# What `make check` runs, cheapest first; it stops at the first failure and names the step.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/.venv/bin
export PATH="$bin:$PATH"
unset PYTHONDONTWRITEBYTECODE # each start of the engine would compile it anew

current=start
report() { # report EXIT-STATUS
  [ "$1" -eq 0 ] || printf '\ncheck failed in step: %s (exit %s)\n' "$current" "$1" >&2
}
trap 'report $?' EXIT
step() {
  current=$1
  shift
  printf '\n== %s\n' "$current"
  "$@"
}

shell_files() { git ls-files -z -- '*.sh' .ci/run ':!cli/tests/golden' | xargs -0 shellcheck; }

step "shellcheck" shell_files
step "ruff check" ruff check --quiet .
step "ruff format" ruff format --quiet --check .
step "mypy" mypy cli/qwen3090 prepare/qwen3090_prepare pkgs/ops/qwen3090_ops
step "lock is current" qwen3090 lock --check
step "patch series lint" qwen3090 patches lint
step "generated files" python checks/generated.py --check
step "tests without the engine" python -m pytest -q -m "not engine" "$@"
step "the flake, built in a stand-in for nixpkgs" bash checks/nix.sh full
step "tests with the engine" python -m pytest -q -m engine "$@"
printf '\nall checks passed\n'
