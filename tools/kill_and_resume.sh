#!/bin/bash
# Trains with the same options again and again: once in peace, and then killed with SIGKILL at random moments and resumed each
# time, until so many kills have hit. Losses, accuracies and final weights must be equal each time.
#
#   tools/kill_and_resume.sh <cnntrain> <kills> <longest seconds between kills> <train options...>
#   tools/kill_and_resume.sh build/cnntrain 3 5 --data-dir build/demo/cifar-10 --model-size 8 --epochs 3 --seed 5
#
# Other commands, and two processes at once: tools/kill_trial.py.
set -u
program=$1 kills=$2 longest=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
parts=$work/parts

begin=$EPOCHREALTIME
"$program" train "$@" --logs-path "$work/whole" > "$work/whole.txt" 2>&1 || { tail -3 "$work/whole.txt"; exit 1; }
# Nobody waits longer for a kill than the whole run takes.
longest=$(awk -v m="$longest" -v b="$begin" -v e="$EPOCHREALTIME" 'BEGIN { print (e - b < m) ? e - b : m }')
last=$(ls "$work/whole" | grep '^ckpt-[0-9]*\.' | sort -V | tail -1)
[ -n "$last" ] || { echo "the run saves no checkpoint to resume from"; exit 1; }

# Goes on with the run in $parts, or begins it when it has not saved a checkpoint yet.
go_on() {
    if ls "$parts"/ckpt-*.safetensors > /dev/null 2>&1; then
        exec "$program" restore --restore-path "$parts"
    elif [ -e "$parts/arguments.json" ]; then
        exec "$program" train "$@" --logs-path "$parts" --overwrite
    else
        exec "$program" train "$@" --logs-path "$parts"
    fi
}

# One run, killed until it ends or enough kills have hit. A kill counts when the process has died of it.
hit=0
one_run() {
    local pid status
    while true; do
        go_on "$@" > "$work/parts.txt" 2>&1 &
        pid=$!
        if [ "$hit" -lt "$kills" ]; then
            sleep "$(awk -v n="$RANDOM" -v m="$longest" 'BEGIN { print n / 32768 * m }')"
            kill -9 "$pid" 2> /dev/null
        fi
        wait "$pid" 2> /dev/null
        status=$?
        if [ $status = 137 ]; then
            hit=$((hit + 1))
            echo "killed after iteration $(tail -1 "$parts/training.csv" 2> /dev/null | cut -d, -f2 | grep -x '[0-9]*' || echo 0)"
        else
            [ $status = 0 ] || tail -3 "$work/parts.txt"
            return $status
        fi
    done
}

runs=0
while [ "$hit" -lt "$kills" ]; do
    before=$hit
    rm -rf "$parts"
    one_run "$@" || exit 1
    status=0
    cmp <(cut -d, -f1-8 "$work/whole/training.csv") <(cut -d, -f1-8 "$parts/training.csv") || status=1
    if [ -e "$work/whole/validation.csv" ]; then
        cmp <(cut -d, -f1-5 "$work/whole/validation.csv") <(cut -d, -f1-5 "$parts/validation.csv") || status=1
    fi
    cmp "$work/whole/$last" "$parts/$last" || status=1
    [ $status = 0 ] || exit 1
    runs=$((runs + 1))
    # A run that always ends before the kill needs earlier ones.
    [ "$hit" -gt "$before" ] || longest=$(awk -v m="$longest" 'BEGIN { print m / 2 }')
    [ $runs -lt $((10 * kills + 10)) ] || { echo "only $hit of $kills kills have hit: the run is too short"; exit 1; }
done
echo "$hit kills in $runs runs, all equal: $(wc -l < "$work/whole/training.csv") rows of training.csv, validation.csv, $last"
