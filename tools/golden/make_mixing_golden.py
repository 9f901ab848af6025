#!/usr/bin/env python3
"""Golden numbers for tests/golden/mixing_test.cpp: mixup, cutmix, and both, with fixed coefficients, and images with
several labels, in float64.

What is mixed with what, the targets and the loss are written here from their formulas with NumPy's roll and PyTorch's
log_softmax; network, weights and images come from make_golden.py.
"""

import json

import numpy as np
import torch
from torchvision.ops import sigmoid_focal_loss

import make_golden as base
from golden_text import write

CLASSES, SMOOTHING, LEARNING_RATE, STEPS = 10, 0.1, 0.02, 10
# Top, bottom, left, right.
BOXES = [(3, 20, 5, 30), (0, 32, 0, 32), (10, 10, 4, 9), (31, 32, 0, 1), (0, 16, 16, 32)]


def own_shares(index, samples):
    """Each sample's own share, in [0.5, 1), exact in float32."""
    steps = (base.mix(f"mixup/{index}", samples) >> np.uint32(9)).astype(np.float32)
    return np.float32(0.5) + steps * np.float32(2.0**-24)


def smoothed(labels):
    one_hot = np.eye(CLASSES)[labels]
    return one_hot * (1 - SMOOTHING) + (1 - one_hot) * SMOOTHING / (CLASSES - 1)


def mixed(images, labels, own, box):
    """Images and targets; `own` and `box` may be None."""
    samples = len(labels)
    k = 2 if samples > 2 else 1
    x = images.astype(np.float64)
    first = smoothed(labels)
    if own is not None:
        weight = own.astype(np.float64)
        picture = weight[:, None, None, None]
        x = picture * x + (1 - picture) * np.roll(x, 1, axis=0)
        first = weight[:, None] * first + (1 - weight[:, None]) * smoothed(np.roll(labels, 1))
    if box is None:
        return x, first
    top, bottom, left, right = box
    result = x.copy()
    result[:, top:bottom, left:right] = np.roll(x, k, axis=0)[:, top:bottom, left:right]
    outside = 1 - (bottom - top) * (right - left) / (x.shape[1] * x.shape[2])
    second = smoothed(np.roll(labels, k))
    if own is not None:
        partner = np.roll(own.astype(np.float64), k)[:, None]
        second = partner * second + (1 - partner) * smoothed(np.roll(np.roll(labels, 1), k))
    return result, outside * first + (1 - outside) * second


def cross_entropy(logits, targets):
    return -(torch.from_numpy(targets) * torch.log_softmax(logits, dim=1)).sum(1)


def run(samples, mixup, cutmix):
    case = base.make_case({"group_norm_groups": 16, "micro_batch": samples, "units": (1, 1, 1)})
    net = base.Network(case, {})
    document = {"samples": samples, "mixup": mixup, "cutmix": cutmix, "own": [], "boxes": [], "losses": []}
    for step in range(STEPS):
        images, labels = base.batch(case, step)
        own = own_shares(step, samples) if mixup else None
        box = BOXES[step % len(BOXES)] if cutmix else None
        x, targets = mixed(images, labels, own, box)
        if mixup:
            document["own"].append([float(value) for value in own])
        if cutmix:
            document["boxes"].append(list(box))
        if step == 0:
            logits = torch.from_numpy(4 * base.noise("logits", samples * CLASSES).reshape(samples, CLASSES))
            logits = logits.to(torch.float32).to(torch.float64).requires_grad_()
            loss = cross_entropy(logits, targets).sum()
            loss.backward()
            document["loss_of_logits"] = loss.item()
            document["dlogits"] = [base.short(value) for value in logits.grad.reshape(-1).tolist()]
            flat = x.reshape(-1)
            document["image_products"] = [float(flat @ base.pattern("mixed", p, flat.size)) for p in range(4)]
        for variable in net.variables.values():
            variable.grad = None
        loss = cross_entropy(net.logits(x), targets).mean()
        loss.backward()
        document["losses"].append(loss.item())
        with torch.no_grad():
            for variable in net.variables.values():
                variable -= LEARNING_RATE * variable.grad
    return document


def several_labels(labels):
    """The formula's label of each image, and every third one, counted from another place in each image."""
    images, classes = np.meshgrid(np.arange(len(labels)), np.arange(CLASSES), indexing="ij")
    return ((labels[:, None] == classes) | ((images + classes) % 3 == 0)).astype(np.float64)


def run_several(samples, weighted, focus):
    """binary_cross_entropy_with_logits with pos_weight, or torchvision's sigmoid_focal_loss."""
    case = base.make_case({"group_norm_groups": 16, "micro_batch": samples, "units": (1, 1, 1)})
    net = base.Network(case, {})
    weights = [0.5 + c / 4 for c in range(CLASSES)] if weighted else []
    document = {"samples": samples, "positive_weights": weights, "focus": focus, "losses": []}
    for step in range(STEPS):
        images, labels = base.batch(case, step)
        logits, targets = net.logits(images.astype(np.float64)), torch.from_numpy(several_labels(labels))
        for variable in net.variables.values():
            variable.grad = None
        if focus:
            loss = sigmoid_focal_loss(logits, targets, alpha=-1, gamma=focus, reduction="mean")
        else:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                logits, targets, pos_weight=torch.tensor(weights, dtype=torch.float64) if weights else None)
        loss.backward()
        document["losses"].append(loss.item())
        with torch.no_grad():
            for variable in net.variables.values():
                variable -= LEARNING_RATE * variable.grad
    return document


if __name__ == "__main__":
    runs = [run(5, True, False), run(5, False, True), run(5, True, True), run(2, True, True)]
    settings = {"label_smoothing": SMOOTHING, "learning_rate": LEARNING_RATE}
    several = [run_several(4, True, 0), run_several(4, False, 2)]
    lines, others = (",\n".join(json.dumps(one) for one in some) for some in (runs, several))
    write("mixing.json",
          f'{{"settings": {json.dumps(settings)},\n"runs": [\n{lines}\n],\n"several": [\n{others}\n]}}\n')
