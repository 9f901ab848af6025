"""Losses and weights of several processes beside those of one process with the same global batch.

Each model trains in one process that accumulates, then under mpirun with one micro-batch in each process, in every way
in which gradients travel. Losses are compared update by update, weights at the end. In float32 losses agree within
1e-6, and between two processes bit for bit, because the sum of two has one order; the 16-bit wire rounds. With
--two-hosts half of the processes run in another network namespace (ranks.py), behind a link of 1 Gbit/s; where the
machine does not let two hosts be made, the exit code is 77. Images are made up; those of ImageNet are all alike.
"""
import array
import csv
import json
import os
import pathlib
import struct
import sys

from common import check, result, run as run_program

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import ranks  # noqa: E402

NEEDS = []
MODELS = {
    "resnet8": "--model-size 8 --dataset cifar-10 --batch-norm --micro-batch-size 8",
    "resnet50": "--model-size 50 --dataset imagenet --image-size 64 --group-norm --micro-batch-size 2",
    "efficientnet-b0": "--model efficientnet --model-size B0 --dataset imagenet --image-size 64 --micro-batch-size 2",
}
WAYS = {"as it comes": "", "no overlap": "--no-comm-overlap", "flat": "--comm-route flat",
        "buckets of 1 KB": "--max-cross-replica-buffer-size 1024", "sharded optimiser": "--rts",
        "16-bit wire": "--comm-wire bf16 --comm-route flat"}


def add_options(parser):
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--two-hosts", action="store_true")
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)


def train(args, model, folder, extra, launch=()):
    """Losses, and the weights by name."""
    line = [*launch, args.cnntrain, "train", *MODELS[model].split(), *extra.split(), "--iterations", args.updates,
            "--logs-path", folder, *(["--data-dir", args.work] if "cifar" in MODELS[model] else ["--generated-data"]),
            *("--precision 32.32 --seed 7 --log-freq 1 --warmup-epochs 0 --abs-learning-rate 0.0001 --no-validation "
              "--threads 1 --optimiser momentum --overwrite").split()]
    run_program(line, env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    with open(folder / "training.csv", newline="") as rows:
        losses = [float(found["loss_batch"]) for found in csv.DictReader(rows)]
    data = (folder / f"ckpt-{args.updates}.safetensors").read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:begin])
    return losses, {name: array.array("f", data[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]])
                    for name, entry in header.items() if name != "__metadata__"}


def compare(args, hosts):
    run_program([args.cnntrain, "dataset", "cifar", "--output-dir", args.work, "--train", 640, "--test", 80,
                 "--overwrite"])
    for model in args.models:
        for processes in args.processes:
            alone = train(args, model, args.work / "alone", f"--gradient-accumulation-count {processes}")
            launch = (hosts.mpirun(processes // 2) if hosts else
                      f"mpirun -np {processes} --oversubscribe --bind-to none".split())
            for way, extra in WAYS.items():
                losses, weights = train(args, model, args.work / "together", extra, launch)
                loss = max(abs(a - b) / abs(a) for a, b in zip(alone[0], losses, strict=True))
                apart = max(max(abs(x - y) for x, y in zip(values, weights[name])) / (max(map(abs, values)) or 1)
                            for name, values in alone[1].items())
                limit = 1e-2 if way == "16-bit wire" else 0 if processes == 2 else 1e-6
                check(f"{model}, {processes} processes, {way}: losses differ by {loss:.1e}, weights by {apart:.1e} of "
                      "the largest", loss <= limit)


def run(args):
    hosts = None
    if args.two_hosts:
        ranks.enter_user_namespace()
        try:
            hosts = ranks.TwoHosts(args.work)
        except ranks.NotHere as reason:
            print(f"skipped: two hosts cannot be made here: {reason}")
            return ranks.SKIPPED
    try:
        compare(args, hosts)
    finally:
        if hosts:
            hosts.close()
    return result()
