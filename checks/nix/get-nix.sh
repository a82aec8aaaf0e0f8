#!/usr/bin/env bash
# Puts Nix into a private folder from Debian's own packages, without touching the host's: the newer
# release's nix-bin with its whole closure, C library included, found by rpath and interpreter.
# usage: get-nix.sh PREFIX   (nothing is done when PREFIX has it already)
set -euo pipefail
prefix=$1
suite=trixie # Debian 13: Nix 2.26; Debian 12's own is 2.8, too old for this flake
libraries=$prefix/root/usr/lib/x86_64-linux-gnu

fail() { # fail PROBLEM NEXT-STEP
  printf 'error: %s\n  next: %s\n' "$1" "$2" >&2
  exit 1
}

if [ -x "$prefix/bin/nix" ] && "$prefix/bin/nix" --version >/dev/null 2>&1; then exit; fi

by_hand="install Nix 2.20 or newer and put it on PATH"
for tool in apt-get dpkg-deb; do
  command -v "$tool" >/dev/null || fail "no Nix 2.20 or newer, and no $tool to get it with" "$by_hand"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{sources,state/lists/partial,cache/archives/partial}
: >"$work/status"

# The mirror and its keys are those that the host uses.
for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
  [ -f "$file" ] || continue
  case $file in
    *.sources) awk -v RS= 'NR == 1' "$file" | sed -E "s/^Suites:.*/Suites: $suite/" ;;
    *) sed -nE "s/^deb( \[[^]]*\])? +([^ ]+) +[^ ]+ +.*main.*/deb\1 \2 $suite main/p" "$file" | head -n 1 ;;
  esac >"$work/sources/nix.${file##*.}"
  if [ -s "$work/sources/nix.${file##*.}" ]; then break; fi
done
[ -n "$(find "$work/sources" -size +0)" ] || fail "no Debian package source on this machine" "$by_hand"

apt=(apt-get -qq
  -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$work/sources"
  -o "Dir::State=$work/state" -o "Dir::State::Status=$work/status" -o "Dir::Cache=$work/cache"
  -o APT::Sandbox::User=root)
"${apt[@]}" update || fail "the package lists of Debian's $suite cannot be read" "$by_hand"
"${apt[@]}" install -y --no-install-recommends --download-only nix-bin patchelf >/dev/null ||
  fail "nix-bin of Debian's $suite cannot be had" "$by_hand"

rm -rf "$prefix/root"
mkdir -p "$prefix/root" "$prefix/bin"
for package in "$work"/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$prefix/root" --exclude='./usr/share' \
    --exclude='*/perl*' --exclude='*/gconv'
done

# Its own loader runs the new patchelf once; from then on nix carries loader and libraries by name.
loader=$libraries/ld-linux-x86-64.so.2
[ -e "$loader" ] || fail "Debian's $suite has no $loader" "$by_hand"
"$loader" --library-path "$libraries" "$prefix/root/usr/bin/patchelf" --force-rpath \
  --set-rpath "$libraries" --set-interpreter "$loader" "$prefix/root/usr/bin/nix"
for name in nix nix-build nix-instantiate nix-store; do ln -sf ../root/usr/bin/nix "$prefix/bin/$name"; done
"$prefix/bin/nix" --version
