#!/usr/bin/env bash
# Finds a Python that works, makes .venv with it and brings the command `qwen3090` into it.
# usage: cli/bootstrap.sh   (PYTHON=... names an interpreter; default: the first that works)
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { # fail PROBLEM NEXT-STEP
  printf 'error: %s\n  next: %s\n' "$1" "$2" >&2
  exit 1
}

# A pyenv shim can be on PATH and still not run, so each candidate is tried.
works() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; }

if [ -d .venv ]; then
  if [ -x .venv/bin/python ] && works .venv/bin/python &&
    .venv/bin/python -c 'import pip' 2>/dev/null; then
    if [ -n "${PYTHON:-}" ]; then
      version='import sys; print(*sys.version_info[:2], sep=".")'
      old=$(.venv/bin/python -c "$version") new=$("$PYTHON" -c "$version" 2>/dev/null || echo "$PYTHON")
      [ "$old" = "$new" ] || fail ".venv has Python $old, PYTHON asks for $new" "make clean, then make setup again"
    fi
    exec .venv/bin/python cli/bootstrap.py
  fi
  echo ".venv is incomplete, making it anew"
fi

python=
for candidate in ${PYTHON:-python3.12 python3.13 python3.11 python3 /usr/bin/python3}; do
  if works "$candidate"; then
    python=$candidate
    break
  fi
done
[ -n "$python" ] || fail "no Python 3.11, 3.12 or 3.13 (tried ${PYTHON:-python3.12 python3.13 python3.11 python3})" \
  "sudo apt-get install python3 python3-venv"

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  package=python$("$python" -c 'import sys; print(*sys.version_info[:2], sep=".")')-venv
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing $package with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq install -y "$package" >/dev/null 2>&1 ||
      { apt-get -qq update && apt-get -qq install -y "$package" >/dev/null; }
  else
    fail "$python has no venv module" "sudo apt-get install $package"
  fi
fi

echo "making .venv with $("$python" --version)"
rm -rf .venv
"$python" -m venv .venv
exec .venv/bin/python cli/bootstrap.py
