#!/usr/bin/env python3
"""Whole ResNet training steps of cnntrain beside PyTorch's on the same machine, in turns, as images/s and their ratio.

usage: compare_torch.py BENCH_STEP [--sizes 50] [--micro-batch-size 32] [--precisions 32.32 16.32] [--rounds 3]

BENCH_STEP is build/tools/bench_step. Needs PyTorch (pip install torch numpy, in a virtual environment); nothing else of
cnntrain does. The peer is an ordinary eager PyTorch program as its users write it: channels_last memory, oneDNN
convolutions, for 16 bits torch.autocast to bfloat16 with float32 weights, SGD with momentum (foreach), cross entropy.
"""
import argparse
import re
import statistics
import subprocess
import time

import torch
from torch import nn
from torch.nn import functional as F

LAYERS = {"18": (2, 2, 2, 2), "34": (3, 4, 6, 3), "50": (3, 4, 6, 3), "101": (3, 4, 23, 3), "152": (3, 8, 36, 3)}


def conv_norm(inputs, outputs, kernel, stride):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs))


class Block(nn.Module):
    def __init__(self, inputs, width, outputs, stride, bottleneck):
        super().__init__()
        if bottleneck:
            parts = [conv_norm(inputs, width, 1, 1), conv_norm(width, width, 3, stride), conv_norm(width, outputs, 1, 1)]
        else:
            parts = [conv_norm(inputs, width, 3, stride), conv_norm(width, outputs, 3, 1)]
        self.parts = nn.ModuleList(parts)
        self.shortcut = conv_norm(inputs, outputs, 1, stride) if stride != 1 or inputs != outputs else nn.Identity()

    def forward(self, x):
        y = x
        for part in self.parts[:-1]:
            y = F.relu(part(y), inplace=True)
        return F.relu(self.parts[-1](y) + self.shortcut(x), inplace=True)


def resnet(size):
    bottleneck = int(size) >= 50
    modules = [conv_norm(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, count in enumerate(LAYERS[size]):
        width = 64 << stage
        outputs = width * 4 if bottleneck else width
        for unit in range(count):
            modules.append(Block(inputs, width, outputs, 2 if stage > 0 and unit == 0 else 1, bottleneck))
            inputs = outputs
    return nn.Sequential(*modules, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


class Peer:
    def __init__(self, size, batch, precision):
        self.bf16 = precision != "32.32"
        self.model = resnet(size).to(memory_format=torch.channels_last).train()
        self.images = torch.randn(batch, 3, 224, 224).to(memory_format=torch.channels_last)
        self.labels = torch.randint(0, 1000, (batch,))
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, foreach=True)

    def step(self):
        self.optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            loss = F.cross_entropy(self.model(self.images).float(), self.labels)
        loss.backward()
        self.optimiser.step()

    def images_per_second(self, steps):
        self.step()
        seconds = []
        for _ in range(steps):
            start = time.perf_counter()
            self.step()
            seconds.append(time.perf_counter() - start)
        return self.images.shape[0] / statistics.median(seconds)


def ours(bench_step, size, batch, precision, steps):
    text = subprocess.run([bench_step, "--model-size", size, "--micro-batch-size", str(batch), "--precision", precision,
                           "--steps", str(steps)], check=True, capture_output=True, text=True).stdout
    return float(re.search(r"whole step: ([\d.]+) images/s", text).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench_step")
    parser.add_argument("--sizes", nargs="+", default=["50"], choices=sorted(LAYERS))
    parser.add_argument("--micro-batch-size", type=int, default=32)
    parser.add_argument("--precisions", nargs="+", default=["32.32", "16.32"])
    parser.add_argument("--rounds", type=int, default=3, help="turns of each program")
    parser.add_argument("--steps", type=int, default=5, help="timed steps in each turn")
    args = parser.parse_args()
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, batch {args.micro_batch_size}, 224 x 224")
    print(f"{'model':<12}{'precision':<11}{'cnntrain img/s':>24}{'PyTorch img/s':>24}{'ratio':>22}")
    for size in args.sizes:
        for precision in args.precisions:
            mine, theirs = [], []
            for _ in range(args.rounds):
                mine.append(ours(args.bench_step, size, args.micro_batch_size, precision, args.steps))
                theirs.append(Peer(size, args.micro_batch_size, precision).images_per_second(args.steps))
            ratios = [a / b for a, b in zip(mine, theirs)]
            spread = lambda v: f"{statistics.median(v):.1f} ({min(v):.1f} to {max(v):.1f})"
            ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            print(f"ResNet-{size:<5}{precision:<11}{spread(mine):>24}{spread(theirs):>24}{ratio:>22}", flush=True)


main()
