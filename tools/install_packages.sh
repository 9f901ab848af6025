#!/bin/sh
# Everything that building, testing and linting cnntrain needs on Debian 12 and 13. Run as root.
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends \
  cmake ninja-build g++ pkg-config \
  libcli11-dev libyaml-cpp-dev libre2-dev libdnnl-dev libtbb-dev libjpeg62-turbo-dev libpng-dev \
  libwebp-dev libgif-dev libtiff-dev \
  libpugixml-dev libutf8proc-dev zlib1g-dev \
  libprotobuf-dev protobuf-compiler libspdlog-dev libgtest-dev libgmock-dev \
  libhwy-dev libopenmpi-dev openmpi-bin nlohmann-json3-dev clang-format clang-tidy \
  dpkg-dev file mandoc zsh fish
