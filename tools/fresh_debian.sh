#!/bin/sh
# README.md's two commands on a fresh Debian: tools/fresh_debian.sh SUITE [FOLDER]
# SUITE: bookworm, trixie, ... FOLDER receives the system, 4 GB; by default a temporary one that is removed at the end.
# Needs root and debootstrap, else it exits with 77. The last commit is built, not what has been changed since.
set -e
suite=${1:?usage: tools/fresh_debian.sh SUITE [FOLDER]}
source=$(cd "$(dirname "$0")/.." && pwd)
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap > /dev/null; then
    echo "skipped: needs root and debootstrap"
    exit 77
fi

system=${2:-$(mktemp -d)}
leave() {
    umount "$system/dev/shm" "$system/sys" "$system/proc" 2> /dev/null || true
    [ -n "$keep" ] || rm -rf --one-file-system "$system"
}
keep=$2
trap leave EXIT INT TERM

if [ -e "$system/cnntrain" ]; then
    echo "$system has a system already: name another folder, or remove it" >&2
    exit 1
fi
debootstrap --variant=minbase "$suite" "$system" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
cp /etc/resolv.conf "$system/etc/resolv.conf"
cp -r /etc/apt/apt.conf.d/. "$system/etc/apt/apt.conf.d/"
mount -t proc proc "$system/proc"
mount -t sysfs -o ro sysfs "$system/sys"
mkdir -p "$system/dev/shm"
mount -t tmpfs tmpfs "$system/dev/shm"
git clone --quiet "$source" "$system/cnntrain"

sed -n '/^tools\/install_packages.sh/p' "$source/README.md" > "$system/commands"
if [ "$(wc -l < "$system/commands")" -ne 2 ]; then
    echo "README.md: expected two lines that begin with tools/install_packages.sh" >&2
    exit 1
fi
while read -r command; do
    echo "== $suite: $command"
    chroot "$system" sh -c "cd /cnntrain && $command" < /dev/null
done < "$system/commands"
