#!/bin/sh
# Installs BUILD into a folder of its own: the program, its link and the configurations are there and work.
# usage: install_test.sh CMAKE BUILD
set -e
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$1" --install "$2" --prefix "$folder" >"$folder/log"
"$folder/bin/poprun" --help | grep -q '^usage: .*poprun \[options\] program'
"$folder/bin/cnntrain" train --config resnet8_test --dry-run --data-dir /no/such/folder | grep -q 'resnet 8'
test -f "$folder/share/cnntrain/configs/benchmarks.yml"
