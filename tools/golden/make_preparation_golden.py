#!/usr/bin/env python3
"""Golden numbers for tests/golden/preparation_test.cpp.

Operations of augmentation, resizes and evaluation crops are torchvision.transforms.v2's on Pillow images; weighted
losses are those of PyTorch's cross_entropy in float64. Images follow from a formula (picture()).
"""

import base64
import math

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

from golden_text import golden_text, write

BINS = 31


def picture(height, width, low=0, high=255):
    """Levels in low..high."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    raw = (y * 13 + x * 7 + c * 37 + x * y * (c + 1) * 3) % 256
    return (low + raw * (high - low) // 255).astype(np.uint8)


def encoded(image):
    return base64.b64encode(np.ascontiguousarray(np.array(image)).tobytes()).decode()


def sheared(image, x, y):
    shear = [math.degrees(math.atan(x)), math.degrees(math.atan(y))]
    return F.affine(image, angle=0.0, translate=[0, 0], scale=1.0, shear=shear, center=[0, 0])


def moved(image, x, y):
    return F.affine(image, angle=0.0, translate=[int(x), int(y)], scale=1.0, shear=[0.0, 0.0])


OPERATIONS = {
    "shear_x": (lambda i, a: sheared(i, a, 0), [-0.3, 0.11]),
    "shear_y": (lambda i, a: sheared(i, 0, a), [0.3, -0.07]),
    "translate_x": (lambda i, a: moved(i, a, 0), [-3, 2]),
    "translate_y": (lambda i, a: moved(i, 0, a), [-2, 4]),
    "rotate": (F.rotate, [-30, 7.3, 0]),
    "brightness": (F.adjust_brightness, [0.1, 1.45]),
    "colour": (F.adjust_saturation, [0.1, 1.9]),
    "contrast": (F.adjust_contrast, [0.55, 1.9]),
    "sharpness": (F.adjust_sharpness, [0.1, 1.9]),
    "hue": (F.adjust_hue, [-0.5, 0.013, 0.31]),
    "posterize": (lambda i, a: F.posterize(i, int(a)), [4, 7]),
    "solarize": (F.solarize, [0, 127.5, 255]),
    "autocontrast": (lambda i, a: F.autocontrast(i), [0]),
    "equalize": (lambda i, a: F.equalize(i), [0]),
}


def operations():
    return [{"name": name, "argument": argument, "low": low, "high": high,
             "pixels": encoded(apply(Image.fromarray(picture(9, 11, low, high)), argument))}
            for name, (apply, arguments) in OPERATIONS.items() for argument in arguments
            for low, high in ((0, 255), (40, 190))]


def strengths():
    """The argument of each operation of RandAugment by magnitude, for images of 224 x 160."""
    names = {"ShearX": "shear_x", "ShearY": "shear_y", "TranslateX": "translate_x", "TranslateY": "translate_y",
             "Color": "colour"}
    result = {}
    for theirs, (bins, signed) in v2.RandAugment._AUGMENTATION_SPACE.items():
        values = bins(BINS, 224, 160)
        if values is None:
            continue
        values = [float(value) * (255 if theirs == "Solarize" else 1) for value in values]
        result[names.get(theirs, theirs.lower())] = {"signed": signed, "strengths": values}
    return result


def resizes():
    cases = []
    for interpolation in ("bilinear", "bicubic"):
        for height, width, out_height, out_width in ((30, 21, 12, 12), (21, 30, 12, 17), (9, 11, 14, 12),
                                                     (40, 13, 9, 14), (12, 12, 12, 12)):
            image = Image.fromarray(picture(height, width))
            resized = F.resize(image, [out_height, out_width], interpolation=v2.InterpolationMode(interpolation))
            cases.append({"interpolation": interpolation, "from": [height, width], "to": [out_height, out_width],
                          "pixels": encoded(resized)})
    return cases


def views():
    """Evaluation by Resize and CenterCrop: the shorter side, and the stored window."""
    cases = []
    for height, width in ((30, 41), (41, 30), (33, 97), (36, 36)):
        for side, shorter in ((16, 18), (16, 19), (14, 16)):
            image = Image.fromarray(picture(height, width))
            steps = v2.Compose([v2.Resize(shorter, interpolation=v2.InterpolationMode.BICUBIC), v2.CenterCrop(side)])
            cases.append({"photo": [height, width], "side": side, "crop_fraction": side / shorter,
                          "pixels": encoded(steps(image))})
    return cases


def losses():
    generator = torch.Generator().manual_seed(3)
    cases = []
    for classes, samples, smoothing, mixed in ((5, 6, 0.0, False), (5, 6, 0.1, False), (3, 8, 0.2, True)):
        logits = torch.randn(samples, classes, generator=generator, dtype=torch.float64).requires_grad_()
        weights = torch.rand(classes, generator=generator, dtype=torch.float64) * 3
        labels = torch.randint(0, classes, (samples,), generator=generator)
        document = {"logits": logits.tolist(), "weights": weights.tolist(), "labels": labels.tolist(),
                    "smoothing": smoothing}
        if mixed:  # with the previous sample's label; the shares of both are exact in float32
            own = torch.round(torch.rand(samples, generator=generator, dtype=torch.float64) * 64) / 64
            one_hot = torch.nn.functional.one_hot(labels, classes).double()
            smooth = one_hot * (1 - smoothing) + (1 - one_hot) * smoothing / (classes - 1)
            targets = own[:, None] * smooth + (1 - own)[:, None] * smooth.roll(1, 0)
            of_labels = (own * weights[labels] + (1 - own) * weights[labels.roll(1)]).sum()
            total = torch.nn.functional.cross_entropy(logits, targets, weight=weights, reduction="sum")
            loss = total / of_labels
            document["shares"] = torch.stack([own, 1 - own], 1).tolist()
        else:  # PyTorch spreads its label smoothing over all classes, the own one included
            loss = torch.nn.functional.cross_entropy(logits, labels, weight=weights,
                                                     label_smoothing=smoothing * classes / (classes - 1))
        loss.backward()
        document |= {"mean_loss": loss.item(), "gradient_of_mean": logits.grad.tolist()}
        cases.append(document)
    return cases


if __name__ == "__main__":
    document = {"made_with": f"torchvision {torchvision.__version__}, Pillow {PIL.__version__}",
                "operations": operations(), "strengths": strengths(), "resizes": resizes(), "views": views(),
                "losses": losses()}
    write("preparation.json", golden_text(document))
