#!/usr/bin/env python3
"""Training rates on a busy machine: beside 0, 1, 2 and 4 processes that compute without a pause, with 1 and 2 threads.

usage: busy_table.py BENCH_STEP [--torch-python PYTHON] [--busy 0 1 2 4] [--threads 1 2] [--rounds 3]
                     [OPTIONS OF TRAIN ...]

BENCH_STEP is build/tools/bench_step. Options that this tool does not know go to it; without any it trains ResNet-20 on
CIFAR-10's format in 32.32, batch 32. One thread is also measured bound to one processor (pinned). --torch-python names
the Python of a virtual environment with PyTorch, which then trains the same ResNet-20 under the same load; nothing else
needs it.
--variable NAME=VALUE measures one more row per thread count with this variable in BENCH_STEP's environment, for
instance GOMP_SPINCOUNT=300000, which is how long libgomp spins by itself; it may be given several times.

All rows of one load are measured in turns. Prints a Markdown table: images/s, medians over the rounds with the lowest
and highest, and the ratio of each median to that of the pinned thread under the same load.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys

DEFAULT_LINE = ["--model-size", "20", "--dataset", "cifar-10", "--batch-norm", "--precision", "32.32"]
DEFAULT_LINE += ["--micro-batch-size", "32"]

# Runs in the interpreter that --torch-python names: threads, then seconds to train for.
TORCH_PROGRAM = """
import statistics, sys, time
import torch
from torch import nn
from torch.nn import functional as F

class Unit(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)])
        self.shortcut = None if stride == 1 else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        y = self.norms[1](self.second(F.relu(self.norms[0](self.first(x)))))
        return F.relu(y + (x if self.shortcut is None else self.shortcut(x)))

threads, seconds = int(sys.argv[1]), float(sys.argv[2])
torch.set_num_threads(threads)
units = [Unit(16, 16, 1) for _ in range(3)] + [Unit(16, 32, 2)] + [Unit(32, 32, 1) for _ in range(2)]
units += [Unit(32, 64, 2)] + [Unit(64, 64, 1) for _ in range(2)]
network = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), *units,
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
network = network.to(memory_format=torch.channels_last)
images = torch.randn(32, 3, 32, 32).to(memory_format=torch.channels_last)
labels = torch.randint(0, 10, (32,))
optimiser = torch.optim.SGD(network.parameters(), lr=0.01, foreach=True)

def step():
    optimiser.zero_grad(set_to_none=True)
    F.cross_entropy(network(images), labels).backward()
    optimiser.step()

for _ in range(3):
    step()
steps, start = 0, time.perf_counter()
while time.perf_counter() - start < seconds:
    step()
    steps += 1
print("rate", 32 * steps / (time.perf_counter() - start))
"""


class Way:
    """A row of the table: a command whose output has a rate behind a word."""

    def __init__(self, name, threads, command, rate, environment=None):
        self.name, self.threads, self.command, self.rate = name, threads, command, re.compile(rate)
        self.environment = {**os.environ, **(environment or {})}

    def measure(self):
        result = subprocess.run(self.command, capture_output=True, text=True, env=self.environment)
        found = self.rate.search(result.stdout)
        if result.returncode != 0 or not found:
            raise SystemExit(f"{' '.join(self.command[:4])} ... ended with {result.returncode}:\n"
                             f"{result.stdout}{result.stderr}")
        return float(found.group(1))


def pinned(command):
    return ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]


def ways(args, line):
    def ours(threads):
        return [args.bench_step, "--step-only", "--seconds", str(args.seconds), "--threads", str(threads), *line]

    rate = r"whole step: .*mean ([\d.]+) images/s"
    rows = [Way("cnntrain, pinned", 1, pinned(ours(1)), rate)]
    for threads in args.threads:
        rows.append(Way("cnntrain", threads, ours(threads), rate))
        for variable in args.variable:
            name, _, value = variable.partition("=")
            rows.append(Way(f"cnntrain, {variable}", threads, ours(threads), rate, {name: value}))
        if args.torch_python:
            command = [args.torch_python, "-c", TORCH_PROGRAM, str(threads), str(args.seconds)]
            rows.append(Way("PyTorch", threads, command, r"rate ([\d.]+)"))
    return rows


def rates_beside(busy, rows, rounds):
    """A list of rates for each row."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        turns = [[row.measure() for row in rows] for _ in range(rounds)]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return list(zip(*turns))


def spread(values):
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench_step")
    parser.add_argument("--torch-python", help="the Python of a virtual environment with PyTorch")
    parser.add_argument("--busy", nargs="+", type=int, default=[0, 1, 2, 4], help="numbers of busy processes")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--variable", action="append", default=[], help="NAME=VALUE: one more row with it")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each row")
    parser.add_argument("--seconds", type=float, default=4, help="of each turn, warm-up apart")
    args, line = parser.parse_known_args()
    rows = ways(args, line or DEFAULT_LINE)
    print(f"{len(os.sched_getaffinity(0))} processors\n")
    print("| busy processes | threads | program | images/s | ratio to the pinned thread |")
    print("|---|---|---|---|---|", flush=True)
    for busy in args.busy:
        results = rates_beside(busy, rows, args.rounds)
        reference = statistics.median(results[0])
        for row, rates in zip(rows, results):
            ratio = statistics.median(rates) / reference
            print(f"| {busy} | {row.threads} | {row.name} | {spread(rates)} | {ratio:.2f} |", flush=True)


main()
