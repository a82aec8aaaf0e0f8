#!/usr/bin/env bash
# Judges unit files with systemd-analyze: fails on keys and values that systemd does not take, and on
# an exposure above 2.0. Shows first that it can fail.
# usage: judge-units.sh FOLDER   with FOLDER/HOST/NAME.service
set -euo pipefail
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(systemd-analyze --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p')

# Keys that systemd has only since the version beside them. An older one here cannot judge those.
declare -A since=([RestartMode]=254 [RestartSteps]=254 [RestartMaxDelaySec]=254)
# What may be missing here: the programs are another machine's.
harmless='is not executable|Failed to prepare filename|does not exist|[Nn]ot found|service: Command '

complaints() { # complaints UNIT-FILE
  local line key
  # --user: the keys are the same, and no folder of the system has to be written.
  { systemd-analyze verify --user --man=no --recursive-errors=no "$1" 2>&1 || true; } | while IFS= read -r line; do
    if [[ $line =~ Unknown\ key(\ name)?\ \'([A-Za-z]+)\' ]]; then
      key=${BASH_REMATCH[2]}
      if [ "${since[$key]:-0}" -gt "$version" ]; then continue; fi
    elif [[ $line =~ $harmless ]]; then
      continue
    elif [[ ! $line =~ /$(basename "$1"): ]] && [[ ! $line =~ ^$(basename "$1"): ]]; then
      continue # about the units of this machine, not about ours
    fi
    printf '%s\n' "$line"
  done
}
exposure() { # exposure UNIT-FILE: in tenths
  local said
  said=$(systemd-analyze --user security --offline=true --no-pager "$1" 2>&1) || true
  said=$(sed -n 's/.*Overall exposure level for [^:]*: \([0-9]*\)\.\([0-9]\).*/\1\2/p' <<<"$said")
  [ -n "$said" ] || { echo "error: systemd-analyze security says nothing about $1" >&2; exit 1; }
  printf '%d\n' "$((10#$said))"
}

export HOME=$work XDG_RUNTIME_DIR=$work/run
mkdir "$work/run"

## It can fail: a misspelt key, a bad value, an open unit.
mkdir "$work/bad"
printf '[Service]\nExecStart=/bin/true\nProtectSytem=strict\n' >"$work/bad/misspelt.service"
printf '[Service]\nExecStart=/bin/true\nRestart=sometimes\n' >"$work/bad/value.service"
for unit in "$work"/bad/*.service; do
  [ -n "$(complaints "$unit")" ] || { echo "error: nothing is said about $(cat "$unit")" >&2; exit 1; }
  level=$(exposure "$unit")
  [ "$level" -gt 20 ] || { echo "error: an open unit is rated as closed" >&2; exit 1; }
done

count=0 worst=0
for unit in "$folder"/*/*.service; do
  name=${unit#"$folder/"}
  said=$(complaints "$unit")
  [ -z "$said" ] || { printf 'error: systemd does not take %s:\n%s\n' "$name" "$said" >&2; exit 1; }
  count=$((count + 1))
  level=$(exposure "$unit")
  [ "$level" -le 20 ] || {
    printf 'error: %s: exposure %d.%d, at most 2.0 is allowed\n  next: systemd-analyze security --offline=true FILE\n' \
      "$name" $((level / 10)) $((level % 10)) >&2
    exit 1
  }
  [ "$level" -le "$worst" ] || { worst=$level worst_name=$name; }
done
[ "$count" -gt 0 ] || { echo "error: no units in $folder" >&2; exit 1; }
printf '%d units: no unknown key; highest exposure %d.%d (%s), systemd %s\n' \
  "$count" $((worst / 10)) $((worst % 10)) "$worst_name" "$version"
