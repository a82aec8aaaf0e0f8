#!/usr/bin/env bash
# The flake without network: gets Nix when there is none, adds the locked wheels to the store, then
# evaluates every output and builds the checks in the stand-in for nixpkgs, sandbox on, and shows
# that what must fail does. What this proves, and what not: docs/nix-evidence.md.
# usage: checks/nix.sh [light|full]   light leaves out the checks that need the 8 GB environment
#   QWEN3090_NIXPKGS_LIB: the folder lib of nixpkgs, if there is one; evaluated too, results compared
#   NIX_PREFIX: where Nix goes when it has to be brought (default: a folder that is kept)
set -euo pipefail
cd "$(dirname "$0")/.."
extent=${1:-light}
system=x86_64-linux
heavy=" imports closure kernels needed model-prepared tests-prepare tests-ops "

fail() { # fail PROBLEM NEXT-STEP
  printf 'error: %s\n  next: %s\n' "$1" "$2" >&2
  exit 1
}
say() { printf '\n-- %s\n' "$*"; }

case $extent in light | full) ;; *) fail "'$extent' is neither light nor full" "checks/nix.sh full" ;; esac
[ -x .venv/bin/qwen3090 ] || fail "there is no .venv" "make setup"

## What the sandbox sees of the host: compilers, Python, pip.
need() { # need COMMAND DEBIAN-PACKAGE...
  local command=$1
  shift
  [ -x "/usr/bin/$command" ] && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    { apt-get -qq install -y --no-install-recommends "$@" ||
      { apt-get -qq update && apt-get -qq install -y --no-install-recommends "$@"; }; } >/dev/null 2>&1 || true
  fi
  [ -x "/usr/bin/$command" ] || fail "/usr/bin/$command is missing" "sudo apt-get install $*"
}
need python3 python3
need pip python3-pip
need g++ g++
need patch patch
need patchelf patchelf
need git git
python=/usr/bin/$(basename "$(readlink -f /usr/bin/python3)")
version=${python#/usr/bin/python}
case $version in 3.11 | 3.12 | 3.13) ;; *)
  fail "/usr/bin/python3 is $version; the lock has wheels for 3.11, 3.12 and 3.13" "use Debian 12 or 13" ;;
esac
[ -f "/usr/include/python$version/Python.h" ] || need "python$version-config" python3-dev

## Nix, and where it keeps things.
new_enough() { # new_enough NIX
  "$1" --version 2>/dev/null | awk '{ split($NF, v, "."); exit !(v[1] > 2 || v[1] == 2 && v[2] >= 20) }'
}
if ! command -v nix >/dev/null || ! new_enough nix; then
  if [ "$(id -u)" = 0 ]; then kept=/opt/qwen3090-nix; else kept=${XDG_CACHE_HOME:-$HOME/.cache}/qwen3090/nix; fi
  prefix=${NIX_PREFIX:-$kept}
  say "Nix, from Debian's packages, in $prefix"
  bash checks/nix/get-nix.sh "$prefix"
  PATH=$prefix/bin:$PATH
fi
{ mkdir -p /nix && [ -w /nix ]; } 2>/dev/null ||
  fail "/nix cannot be written, and Nix keeps everything there" "run as root, or: sudo install -d -o $(id -un) /nix"

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
mkdir -p "$work/etc" "$work/wheelhouse"
cat >"$work/etc/nix.conf" <<CONF
experimental-features = nix-command flakes
build-users-group =
substituters =
flake-registry =
sandbox = true
sandbox-fallback = false
sandbox-paths = /bin /usr /lib /lib64
max-jobs = 2
cores = 0
CONF
export NIX_CONF_DIR=$work/etc
# The sandbox needs namespaces, which some containers forbid: better said now than by a build.
nix build --no-link --file checks/nix/sandbox.nix --argstr seed "$(date +%s%N)" 2>"$work/said" ||
  fail "a sandboxed build does not run here: $(tail -n 3 "$work/said" | tr '\n' ' ')" \
    "allow mount namespaces (a container needs CAP_SYS_ADMIN), or run this on the host"

## The tree as git sees it (tracked and new files, nothing ignored), and the stand-in for this host.
tree=$work/tree
mkdir "$tree"
git ls-files -z --cached --others --exclude-standard |
  while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
  tar -c --null -T - | tar -x -C "$tree"
cp -r checks/standin "$work/standin"
printf '{ "python": "%s", "wheelhouse": "%s" }\n' "$version" "$work/wheelhouse" >"$work/standin/host.json"
on=(--override-input nixpkgs "path:$work/standin" --no-write-lock-file)
quietly() { # quietly COMMAND...: its output only when it fails
  "$@" >"$work/log" 2>&1 || { grep -vE '^warning: not writing|^• Updated|^ +.(github:|path:)|→' "$work/log" | tail -n 60 >&2; return 1; }
}

say "every Nix file parses; lock and inputs agree"
find "$tree" -name '*.nix' -print0 | xargs -0 -n 1 nix-instantiate --parse >/dev/null
quietly nix flake metadata --no-update-lock-file "path:$tree"

say "nix flake show"
nix flake show --json "path:$tree" "${on[@]}" >"$work/outputs.json" 2>"$work/said" || {
  tail -n 30 "$work/said" >&2
  exit 1
}
.venv/bin/python checks/nix/outputs.py "$work/outputs.json" cli/qwen3090/profiles.toml

if [ -n "${QWEN3090_NIXPKGS_LIB:-}" ]; then
  say "the same derivations with nixpkgs' own lib"
  bash checks/nix/real-lib.sh "$tree" "$work"
fi

say "wheels"
.venv/bin/python checks/nix/add-wheels.py "$python" "$extent"

say "builds (sandbox on, $extent)"
names=$(nix eval --raw "path:$tree#checks.$system" "${on[@]}" \
  --apply 'checks: builtins.concatStringsSep " " (builtins.attrNames checks)' 2>/dev/null)
built=0
for name in $names; do
  # A virtual machine needs nixpkgs' own: it is evaluated above and built by nix flake check only.
  case $name in vm*) continue ;; esac
  if [ "$extent" = light ] && [[ $heavy == *" $name "* ]]; then continue; fi
  start=$SECONDS
  quietly nix build --no-link -L "path:$tree#checks.$system.$name" "${on[@]}" || fail "the check '$name' failed" \
    "nix build -L .#checks.$system.$name"
  printf '   %-22s %4d s\n' "$name" $((SECONDS - start))
  built=$((built + 1))
done
packages="ops qwen3090-cli vllm"
if [ "$extent" = full ]; then packages+=" python-env qwen3090 qwen3090-cpu container"; fi
for name in $packages; do
  quietly nix build --no-link -L "path:$tree#packages.$system.$name" "${on[@]}" || fail "the package '$name' failed" \
    "nix build -L .#$name"
done

say "the NixOS module (checks/module.sh)"
MODULE_HOST=$work/standin/host.json MODULE_BUILT=1 bash checks/module.sh

say "what must fail"
bash checks/nix/negative.sh "$tree" "$work" "$python"
printf '\n%d checks built, every negative control failed as it must\n' "$built"
