#!/bin/sh
# Is the tree as fast as an earlier commit? tools/speed_check.sh BASE [ROUNDS], from any folder; half an hour beside
# the two builds. Eight workloads run in turns, one of BASE and one of the tree, ROUNDS times (7 by default); a row says
# how many times as fast the tree is: the median of the rounds and their range. A median below 0.97 whose range is below
# 1, too, is a failure (exit code 1). Builds are kept in build-check/speed; BASE_BUILD and TREE_BUILD name others.
set -e
base=${1:?usage: tools/speed_check.sh BASE [ROUNDS]}
rounds=${2:-7}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build-check/speed
mkdir -p "$work"
cd "$root"
commit=$(git rev-parse --short "$base^{commit}")

build() {  # build SOURCE FOLDER
    cmake -S "$1" -B "$2" -G Ninja > "$work/build.log" 2>&1 &&
        cmake --build "$2" --target bench_step >> "$work/build.log" 2>&1 || { tail -n 20 "$work/build.log" && exit 2; }
}
if [ -z "$BASE_BUILD" ]; then
    [ -d "$work/$commit" ] || git worktree add --detach "$work/$commit" "$commit" > "$work/build.log" 2>&1
    BASE_BUILD=$work/$commit/build
    build "$work/$commit" "$BASE_BUILD"
fi
if [ -z "$TREE_BUILD" ]; then
    TREE_BUILD=$work/tree
    build "$root" "$TREE_BUILD"
fi

image="--dataset imagenet --seed 1"
bert="pretrain --vocab-size 30522 --hidden-size 768 --num-hidden-layers 12 --num-attention-heads 12
  --intermediate-size 3072 --max-position-embeddings 512 --seq-length 128 --max-predictions-per-seq 20
  --micro-batch-size 4 --gradient-accumulation-count 1 --num-train-steps 100 --seed 1"
workloads() {
    cat << LINES
ResNet-50, training b8, 32.32|--steps 2 --model-size 50 --micro-batch-size 8 --precision 32.32 $image
ResNet-50, training b8, 16.32|--steps 3 --model-size 50 --micro-batch-size 8 --precision 16.32 $image
EfficientNet-B0, training b8|--steps 4 --model efficientnet --model-size B0 --micro-batch-size 8 $image
ResNet-20, training b32|--steps 30 --model-size 20 --micro-batch-size 32 --dataset cifar-10 --seed 1
BERT-Base, training 128 x 4, 32|--steps 2 $(echo $bert) --precision 32
BERT-Base, training 128 x 4, 16|--steps 3 $(echo $bert) --precision 16
ResNet-50, inference b1|--steps 40 --evaluate --model-size 50 --micro-batch-size 1 $image
EfficientNet-B0, inference b1|--steps 80 --evaluate --model efficientnet --model-size B0 --micro-batch-size 1 $image
LINES
}
# Milliseconds of the fastest step: neighbours only slow steps down.
fastest() {  # fastest BUILD OPTIONS...
    program=$1/tools/bench_step
    shift
    "$program" --step-only --warmup 1 "$@" > "$work/out" 2>&1 || { cat "$work/out" >&2 && exit 2; }
    sed -n 's/^whole step: .*, [0-9.]* ms a step (\([0-9.]*\) to .*/\1/p' "$work/out"
}

: > "$work/ratios"
round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    workloads | while IFS='|' read -r name options; do
        before=$(fastest "$BASE_BUILD" $options)
        after=$(fastest "$TREE_BUILD" $options)
        echo "$name|$before|$after" >> "$work/ratios"
    done
    echo "round $round of $rounds" >&2
done
echo "| workload | tree beside $commit: median (range) of $rounds | fastest, ms | |"
echo "|---|---|---|---|"
workloads | cut -d '|' -f 1 | while read -r name; do
    grep -F "$name|" "$work/ratios" | awk -F '|' -v name="$name" '
        { ratio[NR] = $2 / $3; if (NR == 1 || $3 < least) least = $3 }
        END {
            for (i = 1; i <= NR; ++i) for (j = i + 1; j <= NR; ++j) if (ratio[j] < ratio[i]) {
                other = ratio[i]; ratio[i] = ratio[j]; ratio[j] = other
            }
            middle = NR % 2 ? ratio[(NR + 1) / 2] : (ratio[NR / 2] + ratio[NR / 2 + 1]) / 2
            slower = middle < 0.97 && ratio[NR] < 1
            printf "| %s | %.3f (%.3f to %.3f) | %.1f | %s |\n", name, middle, ratio[1], ratio[NR], least,
                slower ? "slower" : ""
        }'
done | tee "$work/table.md"
! grep -q "| slower |" "$work/table.md"
