#!/usr/bin/env bash
# With nixpkgs' own lib in hand (QWEN3090_NIXPKGS_LIB names the folder), every package, check and app
# must come out as the same derivation as with the stand-in's lib.
# usage: real-lib.sh TREE WORK   (called by nix.sh, which makes WORK/standin)
set -euo pipefail
tree=$1 work=$2
[ -f "$QWEN3090_NIXPKGS_LIB/default.nix" ] || {
  printf 'error: %s has no default.nix\n  next: name the folder lib of a nixpkgs checkout\n' "$QWEN3090_NIXPKGS_LIB" >&2
  exit 1
}
rm -rf "$work/real"
cp -r "$work/standin" "$work/real"
cp -r "$QWEN3090_NIXPKGS_LIB" "$work/real/nixpkgs-lib"
cat >"$work/real/flake.nix" <<'NIX'
{
  outputs = _: rec {
    lib = import ./nixpkgs-lib;
    legacyPackages.x86_64-linux = import ./pkgs {
      inherit lib;
      system = "x86_64-linux";
      host = builtins.fromJSON (builtins.readFile ./host.json);
    };
  };
}
NIX
for kind in packages checks apps devShells; do
  for with in standin real; do
    nix eval --json "path:$tree#$kind.x86_64-linux" --no-write-lock-file \
      --override-input nixpkgs "path:$work/$with" \
      --apply 'builtins.mapAttrs (_: made: made.drvPath or made.program)' >"$work/$with.json" 2>"$work/said" || {
      tail -n 15 "$work/said" >&2
      exit 1
    }
  done
  cmp -s "$work/standin.json" "$work/real.json" || {
    printf "error: %s differ with nixpkgs' lib\n" "$kind" >&2
    diff <(tr , '\n' <"$work/standin.json") <(tr , '\n' <"$work/real.json") >&2 || true
    exit 1
  }
  printf '   %s: the same\n' "$kind"
done
