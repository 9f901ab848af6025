#!/usr/bin/env python3
"""Weak scaling on one machine: several ranks with a core each against one process with all these cores, as images/s.

usage: scaling.py CNNTRAIN [--ranks 2] [--rounds 3] [--updates 8] [--peer PYTHON] [OPTIONS OF TRAIN ...]

Every rank and the one process have micro-batches of the same size, so the ranks together do as many times the work in
an update, and send their gradients. Without OPTIONS OF TRAIN the network is ResNet-50 in 32.32 on generated images,
batch 16. --peer names the Python of a virtual environment with PyTorch, which nothing else needs: the same network,
batch and number of ranks with DistributedDataParallel and gloo, in float32 and channels-last memory, each rank bound to
a core, too.

All rows are measured in turns; the first two updates of each run do not count. Prints a Markdown table: images/s from
the median update of each turn, medians over the turns with the lowest and highest, and each one's ratio to the process
that has all cores.
"""
import argparse
import os
import pathlib
import re
import shutil
import socket
import statistics
import sys
import tempfile

import ranks
import two_hosts

DEFAULT_LINE = two_hosts.DEFAULT_LINE

# Runs in the interpreter that --peer names: rank, ranks, port, batch, updates, core.
PEER_PROGRAM = """
import os, statistics, sys, time
rank, ranks, port, batch, updates, core = map(int, sys.argv[1:])
os.sched_setaffinity(0, {core})
import torch
from torch import distributed, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

def convolution(inputs, outputs, kernel, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs))

class Unit(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.body = nn.Sequential(convolution(inputs, width, 1), nn.ReLU(True), convolution(width, width, 3, stride),
                                  nn.ReLU(True), convolution(width, 4 * width, 1))
        same = stride == 1 and inputs == 4 * width
        self.shortcut = nn.Identity() if same else convolution(inputs, 4 * width, 1, stride)

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x), inplace=True)

def resnet50():
    layers, inputs = [convolution(3, 64, 7, 2), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)], 64
    for width, units in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for unit in range(units):
            layers.append(Unit(inputs, width, 2 if unit == 0 and width > 64 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))

torch.set_num_threads(1)
torch.manual_seed(rank)
distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)
network = resnet50().to(memory_format=torch.channels_last).train()
network = DistributedDataParallel(network, gradient_as_bucket_view=True)
optimiser = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, foreach=True)
images = torch.randn(batch, 3, 224, 224).to(memory_format=torch.channels_last)
labels = torch.randint(0, 1000, (batch,))
seconds = []
for _ in range(updates):
    start = time.perf_counter()
    optimiser.zero_grad(set_to_none=True)
    F.cross_entropy(network(images), labels).backward()
    optimiser.step()
    seconds.append(time.perf_counter() - start)
if rank == 0:
    print("rate", ranks * batch / statistics.median(seconds[2:]))
distributed.destroy_process_group()
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def micro_batch(line):
    return int(line[line.index("--micro-batch-size") + 1])


class Row:
    """`turn()` returns images/s."""

    def __init__(self, name, turn):
        self.name, self.turn, self.rates = name, turn, []


class Scaling:
    def __init__(self, args, line, work):
        self.args, self.work = args, work
        self.batch = micro_batch(line)
        self.line = [*line, "--seed", "3", "--iterations", args.updates, "--log-freq", "1", "--ckpts-per-epoch", "0",
                     "--no-validation"]
        self.number = 0

    def train(self, launch, threads, processes):
        self.number += 1
        folder = self.work / f"run{self.number}"
        words = [*launch, self.args.program, "train", "--threads", threads, "--logs-path", folder, *self.line]
        output = folder.with_suffix(".txt")
        if ranks.run(words, output) != 0:
            raise SystemExit(f"{' '.join(map(str, words))}\n{output.read_text()[-3000:]}")
        return processes * self.batch / statistics.median(two_hosts.update_seconds(folder))

    def one_process(self):
        cores = sorted(os.sched_getaffinity(0))[:self.args.ranks]
        return self.train(["taskset", "-c", ",".join(map(str, cores))], self.args.ranks, 1)

    def all_ranks(self):
        return self.train(["mpirun", "-np", self.args.ranks, "--map-by", "core", "--bind-to", "core"], 1,
                          self.args.ranks)

    def peer(self):
        port = free_port()
        starts = []
        for rank, core in zip(range(self.args.ranks), sorted(os.sched_getaffinity(0))):
            words = [self.args.peer, "-c", PEER_PROGRAM, rank, self.args.ranks, port, self.batch, self.args.updates,
                     core]
            starts.append(ranks.Start(words, self.work / f"peer{rank}.txt"))
        for start in starts:
            if start.process.wait() != 0:
                raise SystemExit(start.text()[-3000:])
        return float(re.search(r"rate ([\d.]+)", starts[0].text()).group(1))


def spread(values, digits=1):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--ranks", type=int, default=2, help="each with one core (default 2)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each row (default 3)")
    parser.add_argument("--updates", type=int, default=8, help="of each run, at least 3 (default 8)")
    parser.add_argument("--peer", metavar="PYTHON", help="the Python of a virtual environment with PyTorch")
    args, line = parser.parse_known_args()
    ranks.end_orderly_on_sigterm()
    args.program = pathlib.Path(args.program).resolve()
    cores = len(os.sched_getaffinity(0))
    if cores < args.ranks:
        print(f"skipped: {args.ranks} ranks need a core each, there are {cores}")
        return two_hosts.SKIPPED
    work = pathlib.Path(tempfile.mkdtemp(prefix="scaling_"))
    scaling = Scaling(args, line or DEFAULT_LINE, work)
    rows = [Row(f"1 rank x {args.ranks} cores", scaling.one_process),
            Row(f"{args.ranks} ranks x 1 core", scaling.all_ranks)]
    if args.peer:
        rows.append(Row(f"PyTorch DDP with gloo, {args.ranks} ranks x 1 core", scaling.peer))
    try:
        for _ in range(args.rounds):
            for row in rows:
                row.rates.append(row.turn())
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{cores} processors\n\n| | images/s | ratio |\n|---|---|---|")
    for row in rows:
        ratios = [own / all_cores for own, all_cores in zip(row.rates, rows[0].rates)]
        print(f"| {row.name} | {spread(row.rates)} | {spread(ratios, 2)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
