# What stdenv's setup does here: the phases a derivation of this project names, on the host's tools.
# Sourced by bash with the derivation's attributes in the environment.
# shellcheck shell=bash
set -euo pipefail
PATH=/usr/bin:/bin
export PATH HOME=/homeless-shelter LC_ALL=C.UTF-8 SOURCE_DATE_EPOCH=315532800
export NIX_BUILD_CORES=${NIX_BUILD_CORES:-1}
[ "$NIX_BUILD_CORES" != 0 ] || NIX_BUILD_CORES=$(nproc)
for input in ${nativeBuildInputs:-} ${buildInputs:-}; do
  if [ -d "$input/bin" ] && [ "$input" != /usr ]; then PATH=$input/bin:$PATH; fi
done

runHook() { if [ -n "${!1:-}" ]; then eval "${!1}"; fi; }

default_unpackPhase() {
  mkdir source
  cd source
  if [ -d "${src:-}" ]; then cp -r --no-preserve=mode "$src"/. .; fi
}
default_buildPhase() { :; }
default_checkPhase() { :; }
default_installPhase() { echo "no installPhase" >&2; return 1; }
default_installCheckPhase() { :; }

runPhase() {
  echo "phase: $1"
  if [ -n "${!1:-}" ]; then eval "${!1}"; else "default_$1"; fi
}

cd "$NIX_BUILD_TOP"
if [ -n "${buildCommand:-}" ]; then
  eval "$buildCommand"
  exit
fi
[ -n "${dontUnpack:-}" ] || runPhase unpackPhase
[ -n "${dontBuild:-}" ] || runPhase buildPhase
[ -z "${doCheck:-}" ] || runPhase checkPhase
runPhase installPhase
[ -z "${doInstallCheck:-}" ] || runPhase installCheckPhase
