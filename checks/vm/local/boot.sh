#!/usr/bin/env bash
# Becomes process 1 of a machine made of name spaces: the host's files below a layer in memory, so
# that nothing it does reaches the disk, its own /dev, /proc and network, and systemd with our units
# and no others. Run by machine.py, inside fresh mount, pid, ipc, uts, net and cgroup name spaces.
# usage: boot.sh WORK BUNDLE NAME
set -euo pipefail
work=$1 bundle=$2 name=$3
mount --make-rprivate /
mount -t tmpfs -o mode=0755 tmpfs "$work"
mkdir "$work"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$work/root"
root=$work/root
# Everything below relies on this layer.
[ "$(stat -f -c %T "$root")" = overlayfs ] || { echo "error: no overlay at $root" >&2; exit 1; }
touch "$root/.layer"
[ ! -e /.layer ] || { echo "error: the layer is not a layer" >&2; exit 1; }

mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for place in run tmp dev var/log; do mount -t tmpfs -o mode=0755 tmpfs "$root/$place"; done
chmod 1777 "$root/tmp"
mkdir "$root"/dev/{pts,shm}
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
while read -r node minor; do mknod -m 0666 "$root/dev/$node" c 1 "$minor"; done <<'NODES'
null 3
zero 5
full 7
random 8
urandom 9
NODES
ln -s /proc/self/fd "$root/dev/fd"
mknod -m 0666 "$root/dev/tty" c 5 0
mknod -m 0666 "$root/dev/ptmx" c 5 2
if mountpoint -q /nix; then mount --rbind /nix "$root/nix"; fi

mkdir -p "$root"/run/{systemd/system,current-system/sw}
cp "$bundle/$name"/units/* "$root/run/systemd/system/"
ln -s "$bundle/$name/bin" "$root/run/current-system/sw/bin"
# systemd wants these; the host's own would start the host's services.
for target in sysinit basic shutdown network network-online multi-user local-fs sockets timers paths slices; do
  printf '[Unit]\nDescription=%s\nDefaultDependencies=no\n' "$target" >"$root/run/systemd/system/$target.target"
done
printf 'Wants=systemd-journald.service\nAfter=systemd-journald.service\n' >>"$root/run/systemd/system/sysinit.target"
printf '[Unit]\nWants=qwen3090.service\nAfter=qwen3090.service\n' >>"$root/run/systemd/system/multi-user.target"
cp /lib/systemd/system/systemd-journald{.service,.socket,-dev-log.socket} "$root/run/systemd/system/"
sed -i '/^Wants=/d; /^Requires=/d' "$root/run/systemd/system/systemd-journald.service"
printf '127.0.0.1 localhost\n10.90.0.1 home\n10.90.0.2 lan\n' >"$root/etc/hosts"
hostname "$name"
chroot "$root" systemd-tmpfiles --create "$bundle/$name/tmpfiles.conf"

cd "$root"
mkdir -p old
pivot_root . old
umount -l /old
# As systemd does on a machine: credentials are mounted from a name space beside.
mount --make-rshared /
exec env -i container=layer PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  SYSTEMD_UNIT_PATH=/run/systemd/system /lib/systemd/systemd --system --unit=multi-user.target \
  --log-target=journal-or-kmsg --show-status=no
