#!/bin/sh
# Is the tree as fast as an earlier commit? tools/speed_check.sh BASE [ROUNDS]; see tools/compare.py steps --help.
exec python3 "$(dirname "$0")/compare.py" steps --base "${1:?usage: tools/speed_check.sh BASE [ROUNDS]}" --rounds "${2:-7}"
