#!/bin/sh
# Installs on Debian 12 or 13, as root, what building and running cnntrain needs, and with these words more:
#   tools/install_packages.sh [tests] [package]
# tests: what the tests and the checks of style need. package: what `cpack` needs to make a .deb.
set -e
packages="cmake ninja-build g++ pkg-config libcli11-dev libyaml-cpp-dev libre2-dev libdnnl-dev libtbb-dev
  libjpeg62-turbo-dev libpng-dev libwebp-dev libgif-dev libtiff-dev libheif-dev libpugixml-dev libutf8proc-dev
  zlib1g-dev libsnappy-dev libspdlog-dev libhwy-dev libopenmpi-dev openmpi-bin
  nlohmann-json3-dev libcurl4-openssl-dev libssl-dev ca-certificates"
for word in "$@"; do
    case "$word" in
        tests) packages="$packages libgtest-dev libgmock-dev libprotobuf-dev protobuf-compiler clang-format
              clang-tidy python3-cram mandoc zsh fish dpkg-dev file" ;;
        package) packages="$packages dpkg-dev file" ;;
        *) echo "usage: tools/install_packages.sh [tests] [package]" >&2 && exit 2 ;;
    esac
done
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends $packages
