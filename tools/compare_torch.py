#!/usr/bin/env python3
"""Whole training steps and inference of cnntrain beside PyTorch's on the same machine, in turns, as images/s and
ratios.

usage: compare_torch.py BENCH_STEP [--models resnet50 ...] [--modes training inference] [--precisions 32.32 16.32]

BENCH_STEP is build/tools/bench_step. Needs PyTorch and torchvision from PyPI in a virtual environment; nothing else of
cnntrain does. Images are 224 x 224, those of ResNet-20 32 x 32; all networks use batch norm. The peer is torchvision's
network (ResNet-20: one made of its blocks) with oneDNN and as many threads as cores, in the fastest of the ways in
which PyTorch's users run it (each is tried once per row):
  training:  eager, in channels_last or contiguous memory (--compile-training: torch.compile, too); cross entropy, SGD
             with momentum (foreach); for 16 bits autocast to bfloat16 with float32 weights
  inference: torch.compile with frozen weights, or eager; channels_last; for 16 bits the network cast to bfloat16
Prints a Markdown table: medians over the rounds, with the lowest and highest.
"""
import argparse
import re
import statistics
import subprocess
import time

import torch
import torchvision
from torch.nn import functional as F


def resnext101_32x4d():
    bottleneck = torchvision.models.resnet.Bottleneck
    return torchvision.models.ResNet(bottleneck, [3, 4, 23, 3], groups=32, width_per_group=4)


class ResNet20(torch.nn.Sequential):
    """For CIFAR-10; its shortcuts drop pixels and add channels of zeros."""

    class Shortcut(torch.nn.Module):
        def forward(self, x):
            return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, x.shape[1]))

    def __init__(self):
        block = torchvision.models.resnet.BasicBlock
        units = [block(16, 16) for _ in range(3)]
        for width in (32, 64):
            units += [block(width // 2, width, 2, self.Shortcut()), block(width, width), block(width, width)]
        super().__init__(torch.nn.Conv2d(3, 16, 3, 1, 1, bias=False), torch.nn.BatchNorm2d(16), torch.nn.ReLU(),
                         *units, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10))


# What cnntrain and the peer call a network.
MODELS = {
    "resnet20": (["--model", "resnet", "--model-size", "20"], ResNet20),
    "resnet50": (["--model", "resnet", "--model-size", "50"], torchvision.models.resnet50),
    "resnext101": (["--model", "resnext", "--model-size", "101"], resnext101_32x4d),
    "efficientnet-b0": (["--model", "efficientnet", "--model-size", "B0"], torchvision.models.efficientnet_b0),
    "efficientnet-b4": (["--model", "efficientnet", "--model-size", "B4"], torchvision.models.efficientnet_b4),
}


def data_of(model):
    """Data set, size of images, classes."""
    return ("cifar-10", 32, 10) if model == "resnet20" else ("imagenet", 224, 1000)


def training_step(network, images, labels, precision):
    network.train()
    optimiser = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, foreach=True)

    def step():
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision != "32.32"):
            loss = F.cross_entropy(network(images).float(), labels)
        loss.backward()
        optimiser.step()

    return step


def inference_step(network, images):
    network.eval()

    def step():
        with torch.inference_mode():
            network(images)

    return step


class Peer:
    """One way of running the peer, compiled and warmed up."""

    def __init__(self, way, model, mode, precision, batch):
        self.compiled, self.memory_format = way
        torch.manual_seed(1)
        torch._dynamo.reset()
        _, size, classes = data_of(model)
        images = torch.randn(batch, 3, size, size).to(memory_format=self.memory_format)
        labels = torch.randint(0, classes, (batch,))
        network = MODELS[model][1]().to(memory_format=self.memory_format)
        if mode == "inference":
            network.eval()
            if precision != "32.32":
                network, images = network.to(torch.bfloat16), images.to(torch.bfloat16)
        if self.compiled:
            network = torch.compile(network, options={"freezing": mode == "inference"})
        inference = mode == "inference"
        self.step = inference_step(network, images) if inference else training_step(network, images, labels, precision)
        self.batch = batch
        for _ in range(2):
            self.step()

    def rate(self, steps):
        seconds = []
        for _ in range(steps):
            start = time.perf_counter()
            self.step()
            seconds.append(time.perf_counter() - start)
        return self.batch / statistics.median(seconds)

    def __str__(self):
        memory = "channels last" if self.memory_format == torch.channels_last else "contiguous"
        return ("compiled, " if self.compiled else "eager, ") + memory


def peer_ways(mode, compile_training):
    """(compiled, memory format) of the peer."""
    if mode == "inference":
        return [(True, torch.channels_last), (False, torch.channels_last)]
    ways = [(False, torch.channels_last), (False, torch.contiguous_format)]
    return ways + [(True, torch.channels_last)] if compile_training else ways


def our_rate(bench_step, model, mode, precision, batch, steps):
    line = [bench_step, "--step-only", "--warmup", "1", "--steps", str(steps)]
    line += ["--evaluate"] if mode == "inference" else []
    dataset, size, _ = data_of(model)
    line += MODELS[model][0] + ["--dataset", dataset, "--batch-norm", "--precision", precision]
    line += ["--image-size", str(size)] if dataset == "imagenet" else []
    line += ["--micro-batch-size", str(batch), "--optimiser", "momentum", "--momentum", "0.9", "--weight-decay", "1e-4"]
    result = subprocess.run(line, capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(line)} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    return float(re.search(r"whole step: ([\d.]+) images/s", result.stdout).group(1))


def spread(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench_step")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--modes", nargs="+", default=["training", "inference"], choices=["training", "inference"])
    parser.add_argument("--precisions", nargs="+", default=["32.32", "16.32"], choices=["32.32", "16.32"])
    parser.add_argument("--compile-training", action="store_true", help="try torch.compile for training, too (slow)")
    parser.add_argument("--micro-batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=2, help="turns of each program")
    parser.add_argument("--steps", type=int, default=4, help="timed steps in each turn")
    args = parser.parse_args()
    print(f"batch {args.micro_batch_size}, {torch.get_num_threads()} threads\n")
    print(f"| network | mode | precision | cnntrain, images/s | PyTorch {torch.__version__}, images/s | ratio |")
    print("|---|---|---|---|---|---|", flush=True)
    for model in args.models:
        for mode in args.modes:
            for precision in args.precisions:
                setting = (model, mode, precision, args.micro_batch_size)
                peers = [Peer(way, *setting) for way in peer_ways(mode, args.compile_training)]
                peer = max(peers, key=lambda candidate: candidate.rate(1))
                mine, theirs = [], []
                for _ in range(args.rounds):
                    mine.append(our_rate(args.bench_step, *setting, args.steps))
                    theirs.append(peer.rate(args.steps))
                ratios = [a / b for a, b in zip(mine, theirs)]
                print(f"| {model} | {mode} | {precision} | {spread(mine, 1)} | {spread(theirs, 1)}, "
                      f"{peer} | {spread(ratios, 2)} |",
                      flush=True)


main()
