#!/bin/sh
# Is the tree as fast as an earlier commit? tools/speed_check.sh BASE [ROUNDS]; see tools/compare.py steps --help.
base=${1:?usage: tools/speed_check.sh BASE [ROUNDS]}
exec python3 "$(dirname "$0")/compare.py" steps --base "$base" --rounds "${2:-7}"
