"""The tree's speed beside an earlier commit's, on eight workloads (tools/speed_check.sh BASE).

A row says how many times as fast the tree is, by the fastest step of each turn: neighbours only slow steps down. A
median below 0.97 whose range is below 1, too, is a failure. Seven rounds take half an hour beside the two builds, which
are kept in build-check/speed; BASE_BUILD and TREE_BUILD name others.
"""
import os
import pathlib
import re
import statistics
import subprocess

from common import check, head, in_turns, ratio, result, row, run as run_program

NEEDS = []
ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = "--dataset imagenet --seed 1 "
BERT = ("pretrain --vocab-size 30522 --hidden-size 768 --num-hidden-layers 12 --num-attention-heads 12 "
        "--intermediate-size 3072 --max-position-embeddings 512 --seq-length 128 --max-predictions-per-seq 20 "
        "--micro-batch-size 4 --gradient-accumulation-count 1 --num-train-steps 100 --seed 1 --precision ")
WORKLOADS = {
    "ResNet-50, training b8, 32.32": IMAGES + "--steps 2 --model-size 50 --micro-batch-size 8 --precision 32.32",
    "ResNet-50, training b8, 16.32": IMAGES + "--steps 3 --model-size 50 --micro-batch-size 8 --precision 16.32",
    "EfficientNet-B0, training b8": IMAGES + "--steps 4 --model efficientnet --model-size B0 --micro-batch-size 8",
    "ResNet-20, training b32": "--steps 30 --model-size 20 --micro-batch-size 32 --dataset cifar-10 --seed 1",
    "BERT-Base, training 128 x 4, 32": "--steps 2 " + BERT + "32",
    "BERT-Base, training 128 x 4, 16": "--steps 3 " + BERT + "16",
    "ResNet-50, inference b1": IMAGES + "--steps 40 --evaluate --model-size 50 --micro-batch-size 1",
    "EfficientNet-B0, inference b1": IMAGES + "--steps 80 --evaluate --model efficientnet --model-size B0 "
                                              "--micro-batch-size 1",
}


def add_options(parser):
    parser.add_argument("base", help="the earlier commit")
    parser.add_argument("--workloads", nargs="+", default=list(WORKLOADS), choices=WORKLOADS, metavar="NAME")
    parser.set_defaults(rounds=7)


def built(source, folder):
    run_program(["cmake", "-S", source, "-B", folder, "-G", "Ninja"])
    run_program(["cmake", "--build", folder, "--target", "bench_step"])
    return folder


def milliseconds(build, workload):
    text = run_program([f"{build}/tools/bench_step", "--step-only", "--warmup", 1, *WORKLOADS[workload].split()])
    return float(re.search(r"whole step: .* ms a step \(([\d.]+) to", text)[1])


def run(args):
    work = ROOT / "build-check/speed"
    commit = run_program(["git", "-C", ROOT, "rev-parse", "--short", args.base + "^{commit}"]).strip()
    base, tree = os.environ.get("BASE_BUILD"), os.environ.get("TREE_BUILD")
    if not base and not (work / commit).exists():
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", work / commit, commit], check=True)
    base, tree = base or built(work / commit, work / commit / "build"), tree or built(ROOT, work / "tree")
    head("workload", f"tree beside {commit}", "fastest, ms")
    for name in args.workloads:
        found = in_turns(args.rounds, {"base": lambda: milliseconds(base, name), "tree": lambda: milliseconds(tree, name)})
        row(name, ratio(found["base"], found["tree"]), min(found["tree"]))
        ratios = [a / b for a, b in zip(found["base"], found["tree"])]
        if statistics.median(ratios) < 0.97 and max(ratios) < 1:
            check(f"{name} is slower", False)
    return result()
