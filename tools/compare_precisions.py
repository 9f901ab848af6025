#!/usr/bin/env python3
"""Every precision at every level of instruction sets, in turns: images/s, ratio to 32.32, peak memory.

usage: compare_precisions.py BENCH_STEP [--rounds 5] [--levels AVX2 AVX512_CORE AVX512_CORE_BF16 native]
                             [--models resnet-20 resnet-50 efficientnet-B0] [--precisions 32.32 16.32 16.16]
                             [--threads N]

BENCH_STEP is build/tools/bench_step. A level is a value of ONEDNN_MAX_CPU_ISA, which limits own kernels, too; `native`
is no limit. In each round every precision runs once, in alternating order; a ratio is the median over the rounds of one
round's rate and that of 32.32 in the same round, so that a slow minute of the machine hits both.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys

MODELS = {
    "resnet-20": "--model-size 20 --dataset cifar-10 --batch-norm --micro-batch-size 32 --steps 30",
    "resnet-50": "--model-size 50 --dataset imagenet --batch-norm --micro-batch-size 8 --steps 3 --warmup 1",
    "efficientnet-B0": "--model efficientnet --model-size B0 --image-size 224 --dataset imagenet --batch-norm"
                       " --micro-batch-size 8 --steps 5 --warmup 1",
}


def measure(bench, model, level, precision, threads):
    """(images/s, memory of weights and their copies in MB, peak memory in GB) of one run."""
    environment = dict(os.environ)
    environment.pop("ONEDNN_MAX_CPU_ISA", None)
    if level != "native":
        environment["ONEDNN_MAX_CPU_ISA"] = level
    command = [bench, "--step-only", *MODELS[model].split(), "--precision", precision]
    if threads:
        command += ["--threads", str(threads)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    rate = re.search(r"whole step: ([\d.]+) images/s", run.stdout)
    if run.returncode != 0 or not rate:
        sys.exit(f"{' '.join(command)} at {level}:\n{run.stderr.strip() or run.stdout}")
    weights = re.search(r"weights and copies ([\d.]+) MB", run.stdout)
    peak = re.search(r"peak memory of the process: ([\d.]+) GB", run.stdout)
    return float(rate[1]), float(weights[1]), float(peak[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--levels", nargs="+", default=["AVX2", "AVX512_CORE", "AVX512_CORE_BF16", "native"])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--precisions", nargs="+", default=["32.32", "16.32", "16.16"])
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    if "32.32" not in options.precisions:
        parser.error("--precisions must hold 32.32, which the ratios are taken of")

    print("| model | level | precision | images/s | ratio to 32.32 (lowest to highest) | weights, copies MB | peak GB "
          "|")
    print("|---|---|---|---|---|---|---|", flush=True)
    for model in options.models:
        for level in options.levels:
            results = {precision: [] for precision in options.precisions}
            for turn in range(options.rounds):
                for precision in options.precisions if turn % 2 == 0 else options.precisions[::-1]:
                    results[precision].append(measure(options.bench, model, level, precision, options.threads))
            for precision, runs in results.items():
                ratios = [run[0] / base[0] for run, base in zip(runs, results["32.32"])]
                print(f"| {model} | {level} | {precision} | {statistics.median(run[0] for run in runs):.1f} "
                      f"| {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) "
                      f"| {runs[-1][1]:.0f} | {max(run[2] for run in runs):.2f} |", flush=True)


if __name__ == "__main__":
    main()
