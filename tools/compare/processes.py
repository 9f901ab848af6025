"""Losses and weights of several processes beside those of one process with the same global batch.

Each model trains in one process that accumulates, then in several processes under mpirun with one micro-batch each, in
every way in which gradients travel. Losses are compared update by update, weights at the end. Without --data-dir the
images are generated, which are all alike.
"""
import array
import csv
import json
import os
import struct

from common import head, row, run as run_program

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
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--data-dir", help="records of the model's data set")


def train(args, model, folder, extra, processes=1):
    """Losses, and the weights by name."""
    line = [*f"mpirun -np {processes} --oversubscribe --bind-to none".split()] if processes > 1 else []
    line += [args.cnntrain, "train", *MODELS[model].split(), *extra.split(), "--iterations", args.updates,
             "--logs-path", folder, *(["--data-dir", args.data_dir] if args.data_dir else ["--generated-data"]),
             *("--precision 32.32 --seed 7 --log-freq 1 --warmup-epochs 0 --abs-learning-rate 0.01 --no-validation "
               "--threads 1 --optimiser momentum --overwrite").split()]
    run_program(line, env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    with open(folder / "training.csv", newline="") as rows:
        losses = [float(found["loss_batch"]) for found in csv.DictReader(rows)]
    data = (folder / f"ckpt-{args.updates}.safetensors").read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:begin])
    return losses, {name: data[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]]
                    for name, entry in header.items() if name != "__metadata__"}


def weights_apart(one, other):
    """The largest difference of an element, as a share of its tensor's largest one."""
    largest = 0.0
    for name, content in one.items():
        if content != other[name]:
            a, b = array.array("f", content), array.array("f", other[name])
            largest = max(largest, max(abs(x - y) for x, y in zip(a, b)) / (max(map(abs, a)) or 1.0))
    return largest


def run(args):
    head("model", "processes", "way", "largest relative difference of a loss", "weights at the end")
    for model in args.models:
        for processes in args.processes:
            alone = train(args, model, args.work / "alone", f"--gradient-accumulation-count {processes}")
            for way, extra in WAYS.items():
                together = train(args, model, args.work / "together", extra, processes)
                loss = max(abs(a - b) / abs(a) for a, b in zip(alone[0], together[0], strict=True))
                weights = weights_apart(alone[1], together[1])
                row(model, processes, way, f"{loss:.1e}", f"differ by {weights:.1e}" if weights else "the same bits")
    return 0
