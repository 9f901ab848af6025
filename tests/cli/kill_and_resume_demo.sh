#!/bin/bash
# tools/kill_and_resume.sh on a small run of its own.
set -eu
program=$1
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
"$program" dataset cifar --output-dir "$data" --train 400 --test 40 > /dev/null
"$(dirname "$0")/../../tools/kill_and_resume.sh" "$program" 5 2 --data-dir "$data" --dataset cifar-10 --model-size 8 --epochs 3 --seed 5 --threads 1 |
    tee /dev/stderr | grep -q '^5 kills in '
