"""Steps of cnntrain beside another commit's, or beside those of other precisions and instructions.

With --base COMMIT the tree is compared with an earlier commit (tools/speed_check.sh COMMIT): a median below 0.97 whose
range is below 1, too, is a failure. Seven rounds take half an hour beside the two builds, which are kept in
build-check/speed; BASE_BUILD and TREE_BUILD name others. Without it, precisions are compared with 32.32. A level is a
value of ONEDNN_MAX_CPU_ISA, such as AVX2, AVX512_CORE or AVX512_CORE_BF16, which limits own kernels, too. A row says
how many times as fast a side is, by the fastest step of each turn: neighbours only slow steps down.
"""
import os
import pathlib
import re
import statistics

from common import check, head, in_turns, ratio, result, row, run as run_program

NEEDS = []
ROOT = pathlib.Path(__file__).resolve().parents[2]
BERT = ("pretrain --vocab-size 30522 --hidden-size 768 --num-hidden-layers 12 --num-attention-heads 12 "
        "--intermediate-size 3072 --max-position-embeddings 512 --seq-length 128 --max-predictions-per-seq 20 "
        "--micro-batch-size 4 --gradient-accumulation-count 1 --num-train-steps 100 --precision ")
IMAGES = {  # training
    "ResNet-50 b8": "--steps 2 --model-size 50 --micro-batch-size 8 --dataset imagenet",
    "EfficientNet-B0 b8": "--steps 4 --model efficientnet --model-size B0 --micro-batch-size 8 --dataset imagenet",
    "ResNet-20 b32": "--steps 30 --model-size 20 --micro-batch-size 32 --dataset cifar-10",
}
WORKLOADS = {
    **IMAGES,
    "ResNet-50 b8 32.32": "--steps 2 --model-size 50 --micro-batch-size 8 --dataset imagenet --precision 32.32",
    "BERT-Base 128 x 4, 32": "--steps 2 " + BERT + "32",
    "BERT-Base 128 x 4, 16": "--steps 3 " + BERT + "16",
    "ResNet-50 inference": "--steps 40 --evaluate --model-size 50 --micro-batch-size 1 --dataset imagenet",
    "EfficientNet-B0 inference": "--steps 80 --evaluate --model efficientnet --model-size B0 --micro-batch-size 1 "
                                 "--dataset imagenet",
}


def add_options(parser):
    parser.add_argument("--base", help="an earlier commit")
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, metavar="NAME", help=", ".join(WORKLOADS))
    parser.add_argument("--precisions", nargs="+", default=["16.32", "16.16"])
    parser.add_argument("--levels", nargs="+", default=["native"])


def built(variable, source, folder):
    """The build that a variable of the environment names, or a new one."""
    if variable not in os.environ:
        run_program(["cmake", "-S", source, "-B", folder, "-G", "Ninja"])
        run_program(["cmake", "--build", folder, "--target", "bench_step"])
    return os.environ.get(variable, folder)


def milliseconds(build, line, level):
    environment = {**os.environ, **({} if level == "native" else {"ONEDNN_MAX_CPU_ISA": level})}
    text = run_program([f"{build}/tools/bench_step", "--step-only", "--warmup", 1, *line.split(), "--seed", 1],
                       env=environment)
    return float(re.search(r"whole step: .* ms a step \(([\d.]+) to", text)[1])


def run(args):
    if args.base:
        commit = run_program(["git", "-C", ROOT, "rev-parse", "--short", args.base + "^{commit}"]).strip()
        work = ROOT / "build-check/speed"
        if "BASE_BUILD" not in os.environ and not (work / commit).exists():
            run_program(["git", "-C", ROOT, "worktree", "add", "--detach", work / commit, commit])
        base = built("BASE_BUILD", work / commit, work / commit / "build")
        tree = built("TREE_BUILD", ROOT, work / "tree")
    head("workload", "level", "side", f"times as fast as {commit if args.base else '32.32'}", "fastest, ms")
    for name in args.workloads or (WORKLOADS if args.base else IMAGES):
        for level in args.levels:
            line = WORKLOADS[name]
            sides = {commit: (base, line), "tree": (tree, line)} if args.base else {
                precision: (args.build, f"{line} --precision {precision}") for precision in ("32.32", *args.precisions)}
            found = in_turns(args.rounds, {side: lambda words=words: milliseconds(*words, level)
                                           for side, words in sides.items()})
            first, *others = found
            for side in others:
                row(name, level, side, ratio(found[first], found[side]), min(found[side]))
                ratios = [a / b for a, b in zip(found[first], found[side])]
                if args.base and statistics.median(ratios) < 0.97 and max(ratios) < 1:
                    check(f"{name} is slower", False)
    return result()
