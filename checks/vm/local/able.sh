#!/usr/bin/env bash
# Says why the service cannot be run in name spaces here; says nothing when it can.
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "only root can"; exit; }
for command in ip nsenter unshare pivot_root systemd-tmpfiles; do
  command -v "$command" >/dev/null || { echo "$command is missing"; exit; }
done
[ -x /lib/systemd/systemd ] || { echo "systemd is not installed"; exit; }
[ -e /sys/fs/cgroup/cgroup.controllers ] || [ -e /sys/fs/cgroup/unified/cgroup.controllers ] ||
  { echo "no unified cgroup hierarchy"; exit; }
top=/sys/fs/cgroup
[ -e $top/cgroup.controllers ] || top=$top/unified
{ mkdir "$top/qwen3090-try-$$" && rmdir "$top/qwen3090-try-$$"; } 2>/dev/null || { echo "cgroups cannot be made"; exit; }
work=$(mktemp -d)
# shellcheck disable=SC2016
unshare --mount --pid --fork --net --cgroup --ipc --uts bash -c '
  mount -t tmpfs tmpfs "$1" && mkdir "$1"/{upper,work,root} &&
    mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"' - "$work" \
  2>/dev/null || echo "name spaces with an overlay cannot be made"
rmdir "$work"
