#!/usr/bin/env python3
"""Losses and weights of several processes beside those of one process with the same global batch.

usage: compare_processes.py PROGRAM [--processes 2 4] [--updates 20] [--cifar FOLDER] [--imagenet FOLDER]
                            [--models resnet-8 resnet-50 efficientnet-B0] [--mpirun mpirun]

PROGRAM is build/cnntrain. Each model trains so many updates in one process that accumulates, then in several processes
under mpirun, with one micro-batch each and in every way in which gradients can travel. Printed: the largest relative
difference of the loss of an update, and whether all weights have the same bits at the end. Without a folder the images
are generated, which are all alike; --cifar and --imagenet name folders of TFRecords or of CIFAR's files.
"""
import argparse
import array
import csv
import json
import os
import struct
import subprocess
import sys
import tempfile

MODELS = {
    "resnet-8": "--model-size 8 --dataset cifar-10 --batch-norm --micro-batch-size 8",
    "resnet-50": "--model-size 50 --dataset imagenet --image-size 64 --group-norm --micro-batch-size 2",
    "efficientnet-B0": "--model efficientnet --model-size B0 --dataset imagenet --image-size 64 --micro-batch-size 2",
}
WAYS = {
    "as it comes": "",
    "no overlap": "--no-comm-overlap",
    "flat": "--comm-route flat",
    "buckets of 1 KB": "--max-cross-replica-buffer-size 1024",
    "buckets of 25 MB": "--max-cross-replica-buffer-size 26214400",
    "sharded optimiser": "--rts",
    "16-bit wire": "--comm-wire bf16 --comm-route flat",
}
COMMON = ("--precision 32.32 --seed 7 --log-freq 1 --warmup-epochs 0 --abs-learning-rate 0.01 --no-validation "
          "--threads 1"
          " --optimiser momentum")


def train(options, program, model, folder, extra, processes=1):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    source = options.cifar if "cifar" in MODELS[model] else options.imagenet
    data = f"--data-dir {source}" if source else "--generated-data"
    words = (f"{program} train {MODELS[model]} {COMMON} {data} --iterations {options.updates} --logs-path {folder} "
             f"{extra}")
    if processes > 1:
        words = f"{options.mpirun} -np {processes} --oversubscribe --bind-to none {words}"
    run = subprocess.run(words.split(), env=environment, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{words}\nended with {run.returncode}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    with open(f"{folder}/training.csv", newline="") as rows:
        losses = [float(row["loss_batch"]) for row in csv.DictReader(rows)]
    with open(f"{folder}/ckpt-{options.updates}.safetensors", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        body = file.read()
    tensors = {name: body[slice(*entry["data_offsets"])] for name, entry in header.items() if name != "__metadata__"}
    return losses, tensors


def largest_difference(one, other):
    """Of a tensor's elements, as a share of its largest one."""
    largest = 0.0
    for name, content in one.items():
        if content == other[name]:
            continue
        a, b = array.array("f", content), array.array("f", other[name])
        scale = max(map(abs, a)) or 1.0
        largest = max(largest, max(abs(x - y) for x, y in zip(a, b)) / scale)
    return largest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--cifar")
    parser.add_argument("--imagenet")
    parser.add_argument("--mpirun", default="mpirun")
    options = parser.parse_args()

    print("| model | processes | way | largest relative difference of a loss | weights at the end |")
    print("|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            for processes in options.processes:
                alone = train(options, options.program, model, f"{folder}/{model}-{processes}",
                              f"--gradient-accumulation-count {processes}")
                for number, (way, extra) in enumerate(WAYS.items()):
                    together = train(options, options.program, model, f"{folder}/{model}-{processes}-{number}", extra,
                                     processes)
                    loss = max(abs(a - b) / abs(a) for a, b in zip(alone[0], together[0], strict=True))
                    weights = largest_difference(alone[1], together[1])
                    print(f"| {model} | {processes} | {way} | {loss:.1e} | "
                          f"{'same bits' if weights == 0 else f'differ by {weights:.1e} of the largest'} |", flush=True)


if __name__ == "__main__":
    main()
