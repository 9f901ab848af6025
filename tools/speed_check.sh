#!/bin/sh
# Is the tree as fast as an earlier commit? tools/speed_check.sh BASE [ROUNDS]: tools/compare.py revision --help
exec python3 "$(dirname "$0")/compare.py" revision "${1:?usage: tools/speed_check.sh BASE [ROUNDS]}" --rounds "${2:-7}"
