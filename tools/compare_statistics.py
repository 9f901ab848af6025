#!/usr/bin/env python3
"""Errors of batch norms' variances, here and in PyTorch, against float64.

usage: compare_statistics.py CNNTRAIN WORK [--side 224] [--threads 2]

Needs torch, torchvision, safetensors, Pillow, numpy. WORK is a new folder.

Photos with flat areas are the hard case, because equal addends all round in the same direction. A ResNet-50 takes
one step in float32 with --BN-decay 0.001, so that its moving variances are those of the batch. torchvision's network
with the same weights and pixels computes them in float32 and in float64.
"""
import argparse
import pathlib
import subprocess
import sys

import numpy as np
import torch
import torchvision
from PIL import Image
from safetensors.torch import load_file

MEAN = torch.tensor([0.485, 0.456, 0.406], dtype=torch.float64).view(1, 3, 1, 1)
DEVIATION = torch.tensor([0.229, 0.224, 0.225], dtype=torch.float64).view(1, 3, 1, 1)


def run(program, *words):
    line = [str(word) for word in (program, *words)]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(line)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def photo(kind, side, rng):
    """White with an object in a ninth of it, saturated areas, or noise of all sizes as an ordinary photo has."""
    coarse = rng.integers(0, 256, (9, 9, 3), dtype=np.uint8)
    scene = np.asarray(Image.fromarray(coarse).resize((side, side), Image.BICUBIC), dtype=np.float64)
    scene = np.clip(scene + rng.normal(0, 12, scene.shape), 0, 255)
    if kind == "white":
        flat = np.full(scene.shape, 255.0)
        third = side // 3
        flat[third:2 * third, third:2 * third] = scene[third:2 * third, third:2 * third]
        return flat.astype(np.uint8)
    if kind == "saturated":
        return np.clip((scene - 128) * 6 + 128, 0, 255).astype(np.uint8)
    return scene.astype(np.uint8)


def write_photos(folder, kinds, side, seed):
    rng = np.random.default_rng(seed)
    for number, kind in enumerate(kinds):
        for split in ("train", "validation"):
            place = folder / split / f"class{number % 2}"
            place.mkdir(parents=True, exist_ok=True)
            pixels = photo(kind, side, rng) if split == "train" else pixels
            Image.fromarray(pixels).save(place / f"{number:03}.png")
    if len(kinds) == 1:  # a second class, which the batch of one photo does not reach
        for split in ("train", "validation"):
            (folder / split / "class1").mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(folder / split / "class1" / "001.png")


def pixels_of(paths):
    images = [np.asarray(Image.open(path), dtype=np.float64) / 255 for path in paths]
    return (torch.tensor(np.stack(images)).permute(0, 3, 1, 2) - MEAN) / DEVIATION


def network(weights, dtype):
    model = torchvision.models.resnet50(num_classes=2)
    model.load_state_dict(weights)
    return model.to(dtype)


def variances(weights, images, dtype):
    """The unbiased variance of each norm's input over the batch, as both programs keep it."""
    model = network(weights, dtype).train()
    found = {}
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.BatchNorm2d):
            continue
        module.momentum = 1.0

        def keep(module, _inputs, _result, name=name):
            found[name] = module.running_var.double()

        module.register_forward_hook(keep)
    with torch.no_grad():
        model(images.to(dtype))
    return found


def errors(measured, exact):
    """The greatest relative error of a channel's variance, by norm."""
    return {name: float(((measured[name] - exact[name]).abs() / exact[name].abs().clamp_min(1e-12)).max())
            for name in exact}


def row(title, ours, theirs):
    def three(found):
        values = sorted(found.values())
        return f"{found['bn1']:.1e} | {values[-1]:.1e} | {values[len(values) // 2]:.1e}"

    print(f"| {title} | {three(ours)} | {three(theirs)} |", flush=True)


def train_once(args, folder, name, batch, words=()):
    place = args.work / name
    run(args.cnntrain, "train", "--data-dir", folder, "--model-size", 50, "--precision", "32.32", "--image-size",
        args.side, "--micro-batch-size", batch, "--iterations", 1, "--BN-decay", 0.001, "--padding", "symmetric",
        "--optimiser", "SGD", "--abs-learning-rate", 1e-30, "--weight-decay", 0, "--train-with-valid-preprocessing",
        "--crop-fraction", 1, "--normalise-input", "--no-validation", "--keep-ckpts", 0, "--seed", 5, "--threads",
        args.threads, "--logs-path", place, *words)
    return place


def statistics_of(args, kinds, title, seed):
    folder = args.work / f"photos-{title}"
    write_photos(folder, kinds, args.side, seed)
    place = train_once(args, folder, f"run-{title}", len(kinds))
    converted = args.work / f"torchvision-{title}"
    last = sorted(place.glob("ckpt-[0-9]*.safetensors"), key=lambda path: int(path.stem[5:]))[-1]
    run(args.cnntrain, "convert", last, converted, "--to", "torchvision")
    weights = load_file(converted / "model.safetensors")
    ours = {name[:-len(".running_var")]: value.double() for name, value in weights.items()
            if name.endswith("running_var")}
    paths = sorted((folder / "train").rglob("*.png"))[:len(kinds)]
    images = pixels_of(paths)
    exact = variances(weights, images, torch.float64)
    decay = 0.001  # a thousandth of the first value, 1, stays
    ours = {name: (value - decay) / (1 - decay) for name, value in ours.items()}
    row(title, errors(ours, exact), errors(variances(weights, images, torch.float32), exact))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cnntrain", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print("| photos | stem, here | worst norm | median | stem, PyTorch f32 | worst norm | median |")
    print("|---|---|---|---|---|---|---|")
    for kind in ("white", "saturated", "ordinary"):
        statistics_of(arguments, [kind], f"one-{kind}", 3)
    statistics_of(arguments, ["ordinary", "white", "saturated", "ordinary"] * 4, "sixteen", 4)
