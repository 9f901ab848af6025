#!/bin/sh
# Compares the tree's speed with an earlier commit's: tools/speed_check.sh BASE [ROUNDS]; tools/compare.py steps --help.
base=${1:?usage: tools/speed_check.sh BASE [ROUNDS]}
exec python3 "$(dirname "$0")/compare.py" steps --base "$base" --rounds "${2:-7}"
