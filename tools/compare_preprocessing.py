#!/usr/bin/env python3
"""Photos through Pillow and torchvision's transforms, and through cnntrain's evaluation preprocessing: the largest
difference of the input in 8-bit levels, and of the logits that one network gives.

usage: compare_preprocessing.py PHOTO_INPUT PHOTO... [--image-size 224] [--tolerance 1e-3]

PHOTO_INPUT is build/tools/photo_input. Needs PyTorch, torchvision and Pillow from PyPI in a virtual environment. The
network is torchvision's ResNet-18 with random weights. The order of Pillow's passes in a resize follows its version 13.
Prints a line for each mode and exits with 1 if a logit differs by more than the tolerance.
"""
import argparse
import subprocess
import sys

import numpy as np
import torch
import torchvision
from PIL import Image
from torchvision.transforms import v2

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def padded(size, interpolation):
    """The longer side becomes `size`, the mean pixel fills the rest, as timm pads."""
    fill = tuple(round(255 * mean) for mean in MEAN)

    def apply(image):
        ratio = max(image.width, image.height) / size
        width, height = (max(round(side / ratio), 1) for side in (image.width, image.height))
        image = v2.functional.resize(image, [height, width], interpolation=interpolation)
        left, top = (size - width) // 2, (size - height) // 2
        return v2.functional.pad(image, [left, top, size - width - left, size - height - top], fill=fill)

    return apply


def modes(size):
    """Name, cnntrain's options and the peer's steps."""
    for name in ("bilinear", "bicubic"):
        how = v2.InterpolationMode(name)
        for shorter in (size * 256 // 224, size * 232 // 224, size):
            options = ["--interpolation", name, "--crop-fraction", repr(size / shorter)]
            yield f"{name}, crop {size}/{shorter}", options, v2.Compose(
                [v2.Resize(shorter, interpolation=how), v2.CenterCrop(size)])
        yield f"{name}, squash", ["--interpolation", name, "--resize-mode", "squash"], v2.Resize(
            (size, size), interpolation=how)
        yield f"{name}, pad", ["--interpolation", name, "--resize-mode", "pad"], padded(size, how)


def peer_input(photos, steps):
    finish = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])
    return torch.stack([finish(steps(Image.open(photo).convert("RGB"))) for photo in photos])


def our_input(program, photos, options, size):
    command = [program, *photos, "--image-size", str(size), *options]
    bytes_out = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    pixels = np.frombuffer(bytes_out, np.float32).reshape(len(photos), size, size, 3)
    return torch.from_numpy(pixels.transpose(0, 3, 1, 2).copy())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("photo_input")
    parser.add_argument("photos", nargs="+")
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    network = torchvision.models.resnet18().eval()
    worst = 0.0
    for name, options, steps in modes(arguments.image_size):
        theirs = peer_input(arguments.photos, steps)
        ours = our_input(arguments.photo_input, arguments.photos, options, arguments.image_size)
        levels = ((ours - theirs).abs() * torch.tensor(STD).reshape(3, 1, 1) * 255).max().item()
        with torch.inference_mode():
            logits = [network(images) for images in (ours, theirs)]
        difference = (logits[0] - logits[1]).abs().max().item()
        worst = max(worst, difference)
        print(f"{name:24} levels {levels:8.4f}   logits {difference:.2e} of {logits[1].abs().max().item():.1f}",
              flush=True)
    print(f"{len(arguments.photos)} photos, largest difference of a logit: {worst:.2e}")
    return 0 if worst <= arguments.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
