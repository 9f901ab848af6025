#!/bin/sh
# README.md's two commands on a fresh Debian: tools/fresh_debian.sh SUITE [FOLDER]
# A package on one: tools/fresh_debian.sh --package [FILE.deb] SUITE [FOLDER]. It is installed, used and removed.
# Without FILE.deb, README.md's first command and cpack make the package in a fresh system of its own.
# SUITE: bookworm, trixie, ... FOLDER receives the system (4 GB; where a package is tried, 1 GB); by default a temporary
# one that is removed at the end. Needs root and debootstrap, else it exits with 77. The last commit is built, not what
# has been changed since; the package is FOLDER/cnntrain/build/cnntrain_*.deb.
set -e
usage="usage: tools/fresh_debian.sh [--package [FILE.deb]] SUITE [FOLDER]"
tries_package=
package=
if [ "$1" = --package ]; then
    tries_package=yes
    shift
    case "$1" in *.deb) package=$1 && shift ;; esac
    [ -z "$package" ] || [ -f "$package" ] || { echo "$package: no such file" >&2 && exit 1; }
fi
suite=${1:?$usage}
source=$(cd "$(dirname "$0")/.." && pwd)
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap > /dev/null; then
    echo "skipped: needs root and debootstrap"
    exit 77
fi

temporary=
leave() {
    for one in $temporary ${system:+"$system"}; do
        umount "$one/dev/shm" "$one/dev/pts" "$one/sys" "$one/proc" 2> /dev/null || true
    done
    for one in $temporary; do rm -rf --one-file-system "$one"; done
}
trap leave EXIT INT TERM

# Sets `system` to a folder, by default a temporary one, with a fresh Debian.
make_system() {
    system=$1
    if [ -z "$system" ]; then
        system=$(mktemp -d)
        temporary="$temporary $system"
    elif [ -e "$system/etc" ]; then
        echo "$system has a system already: name another folder, or remove it" >&2
        exit 1
    fi
    mkdir -p "$system"
    chmod 755 "$system"  # its users pass through it
    debootstrap --variant=minbase "$suite" "$system" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
    cp /etc/resolv.conf "$system/etc/resolv.conf"
    cp -r /etc/apt/apt.conf.d/. "$system/etc/apt/apt.conf.d/"
    mount -t proc proc "$system/proc"
    mount -t sysfs -o ro sysfs "$system/sys"
    mkdir -p "$system/dev/shm" "$system/dev/pts"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$system/dev/pts"  # for tests on a terminal
    ln -sf pts/ptmx "$system/dev/ptmx"
    mount -t tmpfs tmpfs "$system/dev/shm"
}
inside() {
    chroot "$system" env PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@" < /dev/null
}

# All paths but the user's, temporary files, and what apt and dpkg keep of any package.
paths() {
    (cd "$system" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./home \
        -o -path ./package -o -path ./var/log -o -path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/dpkg \) \
        -prune -o -print | sort)
}

# Installs the package, uses it as a user and removes it: then its files are gone.
try_package() {
    mkdir "$system/package"
    cp "$package" "$system/package/cnntrain.deb"
    inside apt-get update -qq
    inside useradd --create-home user
    # The dependencies first: what they leave behind is not the package's.
    inside apt-get install -y -qq --no-install-recommends /package/cnntrain.deb
    inside dpkg --purge cnntrain
    paths > "$system/tmp/before"
    inside apt-get install -y -qq --no-install-recommends /package/cnntrain.deb
    inside setpriv --reuid=user --regid=user --init-groups env HOME=/home/user sh -ec '
        cd
        cnntrain --version
        cnntrain demo shapes --epochs 2
        cnntrain validation --restore-path shapes/run
        cnntrain pretrain --config pretrain_tiny_128_lamb --generated-data --num-train-steps 2
        cnntrain benchmark --list | grep -q tf1_resnet50
        poprun --help | grep -q "^usage: .*poprun"'
    for file in /usr/share/man/man1/cnntrain-train.1.gz /usr/share/bash-completion/completions/cnntrain \
        /usr/share/fish/vendor_completions.d/cnntrain.fish /usr/share/zsh/vendor-completions/_cnntrain \
        /usr/share/cnntrain/configs/resnet.yml; do
        [ -s "$system$file" ] || { echo "$file is not there" >&2 && exit 1; }
    done
    inside apt-get purge -y -qq cnntrain
    paths > "$system/tmp/after"
    diff "$system/tmp/before" "$system/tmp/after" || { echo "the package left or took these files" >&2 && exit 1; }
    ! grep -q cnntrain "$system/tmp/after" || { echo "files of cnntrain are left" >&2 && exit 1; }
    echo "== $suite: installed, used and removed without a trace"
}

# Runs the first lines of README.md that begin with tools/install_packages.sh, so many of them, and makes the package.
build() {
    git clone --quiet "$source" "$system/cnntrain"
    sed -n '/^tools\/install_packages.sh/p' "$source/README.md" > "$system/commands"
    if [ "$(wc -l < "$system/commands")" -ne 2 ]; then
        echo "README.md: expected two lines that begin with tools/install_packages.sh" >&2
        exit 1
    fi
    head -n "$1" "$system/commands" > "$system/wanted"
    while read -r command; do
        echo "== $suite: $command"
        chroot "$system" sh -c "cd /cnntrain && $command" < /dev/null
    done < "$system/wanted"
    chroot "$system" sh -c "cd /cnntrain && tools/install_packages.sh package && cd build && cpack" < /dev/null
}

if [ -z "$tries_package" ]; then
    make_system "$2"
    build 2
    exit 0
fi
if [ -z "$package" ]; then
    make_system ""
    build 1
    package=$(ls "$system"/cnntrain/build/cnntrain_*.deb)
fi
make_system "$2"
try_package
