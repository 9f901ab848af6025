"""Every precision at every level of instructions, from AVX2 to AMX, beside 32.32: images/s and memory.

A level is a value of ONEDNN_MAX_CPU_ISA, which limits own kernels, too; "native" is no limit.
"""
import os
import re

from common import head, in_turns, ratio, row, run as run_program, spread

NEEDS = []
MODELS = {
    "resnet20": "--model-size 20 --dataset cifar-10 --batch-norm --micro-batch-size 32 --steps 30",
    "resnet50": "--model-size 50 --dataset imagenet --batch-norm --micro-batch-size 8 --steps 3 --warmup 1",
    "efficientnet-b0": "--model efficientnet --model-size B0 --image-size 224 --dataset imagenet --batch-norm "
                       "--micro-batch-size 8 --steps 5 --warmup 1",
}


def add_options(parser):
    parser.add_argument("--levels", nargs="+", default=["AVX2", "AVX512_CORE", "AVX512_CORE_BF16", "native"])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--precisions", nargs="+", default=["16.32", "16.16"])


def run(args):
    head("model", "level", "precision", "images/s", "ratio to 32.32", "weights and copies, MB", "peak memory, GB")
    for model in args.models:
        for level in args.levels:
            environment = dict(os.environ) if level == "native" else {**os.environ, "ONEDNN_MAX_CPU_ISA": level}
            texts = {}

            def rate(precision):
                line = [args.tools / "bench_step", "--step-only", *MODELS[model].split(), "--precision", precision,
                        "--threads", args.threads]
                texts[precision] = run_program(line, env=environment)
                return float(re.search(r"whole step: ([\d.]+)", texts[precision])[1])

            rates = in_turns(args.rounds, {name: lambda name=name: rate(name) for name in ("32.32", *args.precisions)})
            for precision, found in rates.items():
                row(model, level, precision, spread(found), ratio(found, rates["32.32"]),
                    re.search(r"weights and copies ([\d.]+)", texts[precision])[1],
                    re.search(r"peak memory of the process: ([\d.]+)", texts[precision])[1])
    return 0
