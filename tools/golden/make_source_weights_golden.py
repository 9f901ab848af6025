#!/usr/bin/env python3
"""Golden numbers for tests/golden/source_weights.json: what torchvision's and timm's networks answer, in float64.

Their weights and running statistics follow from the formula below and their names, so that
tests/golden/source_weights_test.cpp can make the same tensors. The images have even sides, at which symmetric padding
and TensorFlow's SAME differ at every stride.

Committed numbers were made with Python 3.11.2, torch 2.15.0, torchvision 0.29.2, timm 1.0.31 and numpy 2.4.6.
"""

import json
import math

import numpy as np
import timm
import torch
import torchvision
from golden_text import write
from make_golden import noise

IMAGES, SIDE, CLASSES = 2, 64, 10
MODELS = [*(("torchvision", name) for name in ("resnet18", "resnet50", "resnext50_32x4d", "efficientnet_b0",
                                                "efficientnet_v2_s")),
          *(("timm", name) for name in ("resnet26", "efficientnet_b0", "tf_efficientnet_b0", "tf_efficientnet_b1",
                                         "tf_efficientnet_lite0", "tf_efficientnet_lite2", "tf_efficientnetv2_b0",
                                         "tf_efficientnetv2_b3"))]


def value(name, shape):
    """A tensor in float32, as a file has it."""
    numbers = noise(name, math.prod(shape))
    if name.endswith("running_var"):
        numbers = 1 + 0.5 * numbers
    elif name.endswith("running_mean") or name.endswith("bias"):
        numbers = 0.2 * numbers
    elif len(shape) == 1:  # the scale of a norm
        numbers = 0.8 + 0.2 * numbers
    else:
        numbers = math.sqrt(3.0 / math.prod(shape[1:])) * numbers
    return torch.tensor(numbers.astype(np.float32).reshape(shape))


def make_model(program, name):
    if program == "torchvision":
        model = getattr(torchvision.models, name)(weights=None, num_classes=CLASSES)
    else:
        model = timm.create_model(name, pretrained=False, num_classes=CLASSES)
    state = {key: value(key, tensor.shape) for key, tensor in model.state_dict().items() if tensor.is_floating_point()}
    missing = model.load_state_dict(state, strict=False)
    assert all(key.endswith("num_batches_tracked") for key in missing.missing_keys), missing
    return model.double().eval(), state


def images():
    pixels = noise("images", IMAGES * SIDE * SIDE * 3).astype(np.float32)
    return torch.tensor(pixels.reshape(IMAGES, SIDE, SIDE, 3)).permute(0, 3, 1, 2).double()


if __name__ == "__main__":
    document = []
    for program, name in MODELS:
        model, state = make_model(program, name)
        epsilons = {module.eps for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)}
        with torch.no_grad():
            logits = model(images())
        document.append({
            "program": program, "architecture": name if program == "timm" else "", "name": name,
            "epsilon": epsilons.pop(),
            "same_padding": any("Same" in type(module).__name__ for module in model.modules()),
            "tensors": {key: list(tensor.shape) for key, tensor in state.items()},
            "logits": [[float(f"{x:.9g}") for x in row] for row in logits.tolist()],
        })
        assert not epsilons
    rows = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in document)
    write("source_weights.json", f"[\n{rows}\n]\n")
