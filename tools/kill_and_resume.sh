#!/bin/bash
# Trains twice with the same options: once in peace, and once killed with SIGKILL at random moments and resumed each time.
# Losses, accuracies and final weights must be equal.
#
#   tools/kill_and_resume.sh <cnntrain> <kills> <longest seconds between kills> <train options...>
#   tools/kill_and_resume.sh build/cnntrain 3 5 --data-dir build/demo/cifar-10 --model-size 8 --epochs 3 --seed 5
set -u
program=$1 kills=$2 longest=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$program" train "$@" --logs-path "$work/whole" > "$work/whole.txt" 2>&1 || { tail -3 "$work/whole.txt"; exit 1; }

"$program" train "$@" --logs-path "$work/parts" > "$work/parts.txt" 2>&1 &
pid=$!
for ((i = 0; i < kills; i++)); do
    sleep "$(awk -v n="$RANDOM" -v m="$longest" 'BEGIN { print 1 + n / 32768 * m }')"
    kill -9 "$pid" 2> /dev/null && echo "killed after $(tail -1 "$work/parts/training.csv" 2> /dev/null | cut -d, -f2) iterations"
    wait "$pid" 2> /dev/null
    "$program" restore --restore-path "$work/parts" > "$work/parts.txt" 2>&1 &
    pid=$!
done
wait "$pid" || { tail -3 "$work/parts.txt"; exit 1; }

last=$(ls "$work/whole" | grep '^ckpt-' | sort -V | tail -1)
status=0
cmp <(cut -d, -f1-8 "$work/whole/training.csv") <(cut -d, -f1-8 "$work/parts/training.csv") || status=1
cmp <(cut -d, -f1-5 "$work/whole/validation.csv") <(cut -d, -f1-5 "$work/parts/validation.csv") || status=1
cmp "$work/whole/$last" "$work/parts/$last" || status=1
[ $status = 0 ] && echo "equal: $(wc -l < "$work/whole/training.csv") rows of training.csv, validation.csv, $last"
exit $status
