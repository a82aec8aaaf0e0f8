#!/usr/bin/env bash
# Checks services.qwen3090: evaluates it with the stand-in's lib and, when QWEN3090_NIXPKGS_LIB names
# nixpkgs' own lib/, with that too (the results must be equal), reads the refusals' words, looks for
# secrets in the closure, and runs the service's scenario under the host's systemd when it may.
# Needs nix on PATH, and the locked wheels in the store: checks/nix.sh brings both and calls this.
# usage: checks/module.sh [--write]   --write: make docs/reference/nixos-options.md again, and stop
#   MODULE_HOST: a host.json for the stand-in, as checks/nix.sh writes it
#   MODULE_BUILT=1: the checks of the flake were built already
set -euo pipefail
cd "$(dirname "$0")/.."
host=${MODULE_HOST:-$PWD/checks/standin/host.json}
page=docs/reference/nixos-options.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '\n-- %s\n' "$*"; }
fail() { # fail PROBLEM NEXT-STEP
  printf 'error: %s\n  next: %s\n' "$1" "$2" >&2
  exit 1
}
command -v nix >/dev/null || fail "nix is not on PATH" "bash checks/nix.sh"
evaluate() { # evaluate LIB EXPRESSION-OF-set [OPTION...]
  local lib=$1 expression=$2
  shift 2
  nix eval --impure "$@" --expr \
    "let set = import $PWD/checks/module/host.nix { lib = $lib; host = $host; }; in $expression"
}
build() { # build EXPRESSION-OF-checks: prints the path
  nix build --impure --no-link --print-out-paths -L --expr \
    "let set = import $PWD/checks/module/host.nix { host = $host; };
         checks = import $PWD/checks/module/flake-checks.nix { host = $host; }; in $1"
}

if [ "${1:-}" = --write ]; then
  evaluate null set.results.options --raw >"$work/page"
  cp "$work/page" "$page"
  printf 'wrote %s\n' "$page"
  exit
fi

libs=(null)
if [ -n "${QWEN3090_NIXPKGS_LIB:-}" ]; then
  [ -f "$QWEN3090_NIXPKGS_LIB/default.nix" ] ||
    fail "QWEN3090_NIXPKGS_LIB=$QWEN3090_NIXPKGS_LIB has no default.nix" "name nixpkgs' folder lib/"
  libs+=("$(realpath "$QWEN3090_NIXPKGS_LIB")")
fi

say "evaluation"
for lib in "${libs[@]}"; do
  evaluate "$lib" set.results --json >"$work/$(basename "$lib").json"
  problems=$(evaluate "$lib" 'builtins.concatStringsSep "\n" set.results.problems' --raw)
  [ -z "$problems" ] || fail "$problems" "mend modules/ or checks/module/cases.nix"
done
if [ ${#libs[@]} = 2 ]; then
  cmp "$work/null.json" "$work/$(basename "${libs[1]}").json" ||
    fail "nixpkgs' lib and the stand-in's give different results" "compare set.results of both"
  echo "   the same with nixpkgs' lib ($(cat "${libs[1]}/.version" 2>/dev/null || echo no version))"
else
  echo "   with the stand-in's lib only (QWEN3090_NIXPKGS_LIB is not set)"
fi

say "refusals by type: the message names the option"
names=$(evaluate null 'builtins.concatStringsSep " " (builtins.attrNames set.cases.mistyped)' --raw)
for lib in "${libs[@]}"; do
  for name in $names; do
    wanted=$(evaluate "$lib" "set.cases.mistyped.\"$name\".text" --raw)
    if evaluate "$lib" "builtins.deepSeq (set.evaluate set.cases.mistyped.\"$name\".module).units true" \
      >/dev/null 2>"$work/said"; then
      fail "$name is accepted" "mend its option's type"
    fi
    grep -qF "$wanted" "$work/said" || fail "$name: the message does not name $wanted: $(tail -n 3 "$work/said")" \
      "mend its option's type"
  done
done
echo "   $names"

say "secrets: in no unit and nowhere in the closure"
canary=canary-$RANDOM$RANDOM$RANDOM
printf '%s\n' "$canary" >"$work/key"
closure_of() { # closure_of EXTRA-SETTINGS: every store path that the units need
  nix-store --query --requisites "$(build "set.pkgs.writeText \"units\" (builtins.toJSON (set.evaluate {
    hardware.graphics.enable = true;
    services.qwen3090 = { enable = true; host = \"0.0.0.0\"; openFirewall = true;
      apiKeyFile = \"$work/key\"; huggingfaceTokenFile = \"$work/key\"; openWebUI.enable = true; $1 };
  }).units)" 2>"$work/said")" || fail "$(tail -n 20 "$work/said")" "see above"
}
closure_of "" >"$work/paths"
grep -q qwen3090.toml "$work/paths" || fail "the configuration is not in the unit's closure" "see modules/config-file.nix"
if xargs grep -rlF "$canary" <"$work/paths"; then fail "the key is in the closure" "see above"; fi
# The search finds what is there: a key that is read into the configuration.
closure_of "settings.served_name = builtins.replaceStrings [ \"\\n\" ] [ \"\" ] (builtins.readFile \"$work/key\");" >"$work/paths"
xargs grep -rlF "$canary" <"$work/paths" >/dev/null || fail "the search for secrets finds nothing" "mend checks/module.sh"
echo "   $(wc -l <"$work/paths") store paths searched; a key that is put there is found"

say "builds"
names=(module-evaluation module-options module-config module-units module-service)
if [ "${MODULE_BUILT:-}" = 1 ]; then names=(); fi
for name in "${names[@]}" vm-service; do
  start=$SECONDS
  build "checks.$name" >"$work/out" 2>"$work/said" || fail "$name: $(tail -n 20 "$work/said")" "see above"
  printf '   %-20s %3d s\n' "$name" $((SECONDS - start))
done
if build '(set.evaluate set.cases.unbuildable.misspelt-setting.module).config.services.qwen3090.configFile' \
  >/dev/null 2>"$work/said"; then
  fail "a system with a misspelt setting builds" "see modules/config-file.nix"
fi
grep -qF "did you mean 'seats'?" "$work/said" || fail "its message: $(tail -n 5 "$work/said")" "see above"
echo "   a misspelt setting fails the build and names the right one"

say "the service under the host's systemd, in name spaces"
why=$(bash checks/vm/local/able.sh) || true
if [ -n "$why" ]; then
  echo "   not run: $why"
else
  bundle=$(build checks.vm-bundle 2>"$work/said") || fail "$(tail -n 20 "$work/said")" "see above"
  PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 checks/vm/local/run.py "$bundle"
fi
