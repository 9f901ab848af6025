#!/usr/bin/env python3
"""Errors of norms' statistics, here and in PyTorch.

usage: compare_statistics.py CNNTRAIN WORK [--side 224] [--threads 2] [--only variances|batches]

Needs torch, torchvision, safetensors, Pillow, numpy. WORK is a new folder.

Photos with flat areas are the hard case, because equal addends all round in the same direction. A ResNet-50 takes
one step in float32 with --BN-decay 0.001, so that its moving variances are those of the batch. torchvision's network
with the same weights and pixels computes them in float32 and in float64.

Group norms must not depend on the batch: 64 photos are classified by a ResNet-50 with 32 groups and 1000 classes in
batches of 1 to 64, here and in PyTorch. Printed is the largest difference of a logit from that in batches of 1, as a
share of the spread (standard deviation) of all logits less their mean, and the distance to float64.
"""
import argparse
import pathlib
import subprocess
import sys

import numpy as np
import torch
import torchvision
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from compare_weights import own_logits

MEAN = torch.tensor([0.485, 0.456, 0.406], dtype=torch.float64).view(1, 3, 1, 1)
EXACT = 12  # photos whose logits are computed in float64, too
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


def group_norm_weights(args):
    """Our checkpoint of a network with random scales and shifts, and torchvision's network with the same weights."""
    place = args.work / "group-norm"
    run(args.cnntrain, "train", "--generated-data", "--dataset", "imagenet", "--model-size", 50, "--group-norm",
        "--groups", 32, "--precision", "32.32", "--micro-batch-size", 1, "--iterations", 1, "--no-validation",
        "--padding", "symmetric", "--seed", 5, "--logs-path", place)
    source = place / "ckpt-0.safetensors"
    with safe_open(source, "pt") as opened:
        metadata = opened.metadata()
    tensors = load_file(source)
    generator = torch.Generator().manual_seed(6)
    for name, value in tensors.items():
        if name.endswith("/gamma"):
            value.uniform_(0.5, 1.5, generator=generator)
        elif name.endswith("/beta"):
            value.normal_(0, 0.1, generator=generator)
    changed = args.work / "group-norm.safetensors"
    save_file(tensors, changed, metadata)
    model = torchvision.models.resnet50(norm_layer=lambda channels: torch.nn.GroupNorm(32, channels)).eval()
    own = {"fc.weight": tensors["all/fc1/weight"].t(), "fc.bias": tensors["all/fc1/bias"]}

    def keep(there, convolution, norm):
        own[f"{there[0]}.weight"] = tensors[f"all/{convolution}/weight"].permute(3, 2, 0, 1)
        own[f"{there[1]}.weight"] = tensors[f"all/{norm}/GroupNorm/gamma"]
        own[f"{there[1]}.bias"] = tensors[f"all/{norm}/GroupNorm/beta"]

    keep(("conv1", "bn1"), "stage0/conv0", "stage0/gn0")
    for stage, units in enumerate((3, 4, 6, 3), 1):
        for unit in range(units):
            there, here = f"layer{stage}.{unit}", f"stage{stage}/unit{unit + 1}"
            for part in (1, 2, 3):
                keep((f"{there}.conv{part}", f"{there}.bn{part}"), f"{here}/conv{part}", f"{here}/gn{part}")
            if unit == 0:
                keep((f"{there}.downsample.0", f"{there}.downsample.1"), f"{here}/conv1sc", f"{here}/gnsc")
    model.load_state_dict(own)
    return changed, model


def logits_here(args, weights, folder, batch):
    options = ["--micro-batch-size", batch, "--threads", args.threads, "--model-size", 50, "--group-norm", "--groups",
               32, "--padding", "symmetric", "--image-size", args.side, "--crop-fraction", 1, "--dataset", "imagenet",
               "--normalise-input", "--trust-edited-checkpoint"]
    found = own_logits(args.cnntrain, weights, folder, options, classes=1000)
    return np.stack([found[name] for name in sorted(found)])


def torch_logits(model, images, batch):
    with torch.no_grad():
        logits = torch.cat([model(part) for part in images.split(batch)]).double()
    return (logits - logits.mean(1, keepdim=True)).numpy()


def compare_batches(args):
    weights, model = group_norm_weights(args)
    folder = args.work / "photos-batches"
    folder.mkdir()
    rng = np.random.default_rng(7)
    for number in range(64):
        kind = ("white", "saturated", "ordinary")[number % 3]
        Image.fromarray(photo(kind, args.side, rng)).save(folder / f"{number:03}.png")
    pixels = pixels_of(sorted(folder.glob("*.png")))
    images = pixels.float()
    batches = (1, 2, 5, 12, 16, 64)
    here = {batch: logits_here(args, weights, folder, batch) for batch in batches}
    there = {batch: torch_logits(model, images, batch) for batch in batches}
    spread = there[1].std()
    print("| batch | here | PyTorch |\n|---|---|---|", flush=True)
    for batch in batches[1:]:
        own, peer = (np.abs(found[batch] - found[1]).max() / spread for found in (here, there))
        print(f"| {batch} | {own:.1e} | {peer:.1e} |", flush=True)
    exact = torch_logits(model.double(), pixels[:EXACT], 1)
    own, peer = (np.abs(found[1][:EXACT] - exact).max() / spread for found in (here, there))
    print(f"| {EXACT} photos in batches of 1, against float64 | {own:.1e} | {peer:.1e} |")


def compare_variances(args):
    print("| photos | stem, here | worst norm | median | stem, PyTorch f32 | worst norm | median |")
    print("|---|---|---|---|---|---|---|")
    for kind in ("white", "saturated", "ordinary"):
        statistics_of(args, [kind], f"one-{kind}", 3)
    statistics_of(args, ["ordinary", "white", "saturated", "ordinary"] * 4, "sixteen", 4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cnntrain", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=("variances", "batches"))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    arguments.work.mkdir(parents=True)
    if arguments.only != "batches":
        compare_variances(arguments)
    if arguments.only != "variances":
        compare_batches(arguments)
