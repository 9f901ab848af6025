#!/usr/bin/env python3
"""Golden numbers for tests/golden: ten training steps of small and large networks in PyTorch, float64.

An implementation that shares nothing with cnntrain but the description of the networks and the formulas for weights,
images and labels below (tests/golden/formula.h has the same in C++).

A gradient in float32 can only be compared with one in float64 where no ReLU and no max-pool decides differently, and
among the 40 million activations of ResNet-50 some always lie within rounding of zero. So the shift before each ReLU is
chosen, out of 64 per channel, such that no activation of step 1 lies near zero ("beta_choices" in the files), and the
first convolution has short fixed-point numbers, so that it is exact and its ties are ties everywhere.

Committed numbers were made with Python 3.11.7, torch 2.2.2+cu121 (on the CPU) and numpy 1.26.4.
"""

import math
import sys
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn.functional as F

from golden_text import golden_text, write

# +-1 vectors that each gradient is multiplied with, elements of it that are written down, updates.
PATTERNS, SAMPLES, STEPS = 4, 4, 10


# The settings that the files have, in this order; those from the family on only for other families than resnet.
DEFAULTS = dict(
    size="8", imagenet=False, group_norm_groups=0, classes=10, image_size=32, micro_batch=4, micro_batches=1,
    learning_rate=0.02, momentum=0.0, weight_decay=0.0, undecayed=[], label_smoothing=0.0, bn_decay=0.97,
    family="resnet", epsilon=1e-5, convolution_groups=1, group_dim=1, expand_ratio=6)
IMAGENET = dict(imagenet=True, classes=1000, image_size=64, momentum=0.9, weight_decay=1e-4,
                undecayed=["beta", "gamma"], label_smoothing=0.1)
RESNEXT = dict(family="resnext", convolution_groups=32, group_dim=4, bottleneck=True)
EFFICIENTNET = dict(family="efficientnet", size="B0", epsilon=1e-3, learning_rate=0.001)
CASES = {
    "resnet8_bn": dict(weight_decay=1e-3, units=(1, 1, 1)),
    "resnet20_gn": dict(size="20", group_norm_groups=16, micro_batch=16, micro_batches=2, learning_rate=0.002,
                        weight_decay=1e-3, label_smoothing=0.1, units=(3, 3, 3)),
    "resnet50_bn": dict({**IMAGENET, "image_size": 224}, size="50", learning_rate=0.00002, units=(3, 4, 6, 3),
                        bottleneck=True),
    "resnext11_bn": dict(RESNEXT, size="11", learning_rate=0.005, weight_decay=1e-3, units=(1, 1, 1)),
    "resnext14_gn": dict(IMAGENET, **RESNEXT, size="14", group_norm_groups=32, learning_rate=0.0001,
                         units=(1, 1, 1, 1)),
    "efficientnet_b0_bn": dict(IMAGENET, **EFFICIENTNET, micro_batch=8),
    "efficientnet_b0_gn": dict(IMAGENET, **EFFICIENTNET, group_norm_groups=4, micro_batches=2, group_dim=16,
                               expand_ratio=4),
}


def make_case(settings):
    return SimpleNamespace(**{**DEFAULTS, "bottleneck": False, **settings})


def mix(text, count):
    """Element i: the 32-bit finaliser of MurmurHash3 over FNV-1a(text) + i * 0x9E3779B9, as in formula.h."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    x = (np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B9) + np.uint64(value)).astype(np.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ x >> np.uint32(shift)) * np.uint32(factor)
    return x ^ x >> np.uint32(16)


def noise(text, count):
    """Uniform in [-1, 1), float64."""
    return mix(text, count).astype(np.float64) / 2147483648.0 - 1.0


def fixed_point(values, steps_per_unit):
    return np.floor(values * steps_per_unit + 0.5) / steps_per_unit


def initial_value(name, shape, choices=None):
    values = noise(name, math.prod(shape))
    if name.endswith("/gamma"):
        values = (0.25 if "/bn3/" in name else 1.0) * (1.0 + 0.25 * values)
    elif name.endswith("/beta") or name.endswith("/bias"):
        values = 0.25 * values
        if choices:
            values = values + np.array([CHOICES[LETTERS.index(letter)] for letter in choices])
    else:  # variance 1 / fan in
        values = math.sqrt(3.0 / math.prod(shape[:-1])) * values
        if name == "all/stage0/conv0/weight":
            values = fixed_point(values, 128.0)
    return values.astype(np.float32).reshape(shape)


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
CHOICES = (np.arange(64) - 31.5) / 128.0  # what is added to a channel's beta


def cells(text, size):
    """[size,size,3] of 8 x 8 squares of one colour each."""
    colours = noise(text, 8 * 8 * 3).reshape(8, 8, 3)
    at = np.arange(size) * 8 // size
    return colours[at][:, at]


def batch(case, index):
    """Images [N,H,W,3] of noise and squares of their class and their own, labels [N]; index counts micro-batches."""
    labels = (mix(f"labels/{index}", case.micro_batch) % np.uint32(10)).astype(np.int64)
    shape = (case.micro_batch, case.image_size, case.image_size, 3)
    images = 0.5 * noise(f"images/{index}", math.prod(shape)).reshape(shape)
    for n, label in enumerate(labels):
        images[n] += cells(f"class/{label}", case.image_size)
        images[n] += cells(f"sample/{index}/{n}", case.image_size)
    return fixed_point(images, 16.0).astype(np.float32), labels


def pattern(name, k, count):
    """+-1."""
    return 1.0 - 2.0 * (mix(f"{name}#{k}", count) & np.uint32(1)).astype(np.float64)


class Network:
    """ResNet and ResNeXt: variables by name (kernels HWIO, dense IO) and the forward pass; activations are NCHW."""
    kernel = "/weight"

    def __init__(self, case, choices=None):
        """The first forward pass makes the choices if there are none."""
        self.case, self.dtype = case, torch.float64
        self.choosing, self.choices = choices is None, {} if choices is None else choices
        self.variables, self.moving = {}, {}  # in order of first use
        self.batch_statistics = {}  # of the latest forward pass, variance with Bessel's correction

    def variable(self, name, shape):
        if name not in self.variables:
            value = torch.from_numpy(initial_value(name, shape, self.choices.get(name))).to(self.dtype)
            self.variables[name] = value.requires_grad_()
        return self.variables[name]

    @staticmethod
    def pad_same(x, kernel, stride, value):
        pads = []
        for size in (x.shape[3], x.shape[2]):
            total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
            pads += [total // 2, total - total // 2]
        return F.pad(x, pads, value=value)

    def conv(self, x, scope, filters, kernel, stride=1, groups=1):
        weight = self.variable(scope + self.kernel, (kernel, kernel, x.shape[1] // groups, filters))
        x = self.pad_same(x, kernel, stride, 0.0)
        return F.conv2d(x, weight.permute(3, 2, 0, 1), stride=stride, groups=groups)

    def dense(self, x, scope):
        weight = self.variable(scope + self.kernel, (x.shape[1], self.case.classes))
        return x @ weight + self.variable(scope + "/bias", (self.case.classes,))

    def norm_leaf(self, scope, suffix):
        return f"{scope}/gn{suffix}/GroupNorm" if self.case.group_norm_groups else f"{scope}/bn{suffix}/batch_norm"

    def observe(self, leaf, x):
        """The batch's statistics of a batch norm."""
        if leaf + "/moving_mean" not in self.moving:
            self.moving[leaf + "/moving_mean"] = torch.zeros(x.shape[1], dtype=self.dtype)
            self.moving[leaf + "/moving_variance"] = torch.ones(x.shape[1], dtype=self.dtype)
        detached = x.detach()
        self.batch_statistics[leaf + "/moving_mean"] = detached.mean((0, 2, 3))
        self.batch_statistics[leaf + "/moving_variance"] = detached.var((0, 2, 3), unbiased=True)

    def norm(self, x, scope, suffix):
        leaf = self.norm_leaf(scope, suffix)
        beta, gamma = (self.variable(f"{leaf}/{name}", (x.shape[1],)) for name in ("beta", "gamma"))
        if self.case.group_norm_groups:
            return F.group_norm(x, self.case.group_norm_groups, gamma, beta, self.case.epsilon)
        self.observe(leaf, x)
        return F.batch_norm(x, None, None, gamma, beta, training=True, eps=self.case.epsilon)

    def relu(self, x, scope, suffix):
        """The ReLU of what the norm of this scope and suffix has shifted."""
        if not self.choosing:
            return F.relu(x)
        name = self.norm_leaf(scope, suffix) + "/beta"
        values = x.detach().transpose(0, 1).reshape(x.shape[1], -1).numpy()
        best = []
        for channel in values:
            ordered = np.sort(channel)
            right = np.searchsorted(ordered, -CHOICES).clip(1, ordered.size - 1)
            margins = np.minimum(np.abs(ordered[right - 1] + CHOICES), np.abs(ordered[right] + CHOICES))
            best.append(int(margins.argmax()))
        self.choices[name] = "".join(LETTERS[k] for k in best)
        with torch.no_grad():
            old = self.variables[name].clone()
            self.variables[name].copy_(torch.from_numpy(initial_value(name, old.shape, self.choices[name])))
            return F.relu(x + (self.variables[name] - old)[None, :, None, None])

    def stem(self, x):
        if not self.case.imagenet:
            return self.relu(self.norm(self.conv(x, "all/stage0/conv0", 16, 3), "all/stage0", "0"), "all/stage0", "0")
        x = self.conv(x, "all/stage0/conv0", 64, 7, 2)
        x = self.relu(self.norm(x, "all/stage0", "0"), "all/stage0", "0")
        return F.max_pool2d(self.pad_same(x, 3, 2, -math.inf), 3, 2)

    def shortcut(self, x, scope, filters, stride):
        if stride == 1 and x.shape[1] == filters:
            return x
        if self.case.imagenet or self.case.bottleneck:
            return self.norm(self.conv(x, scope + "/conv1sc", filters, 1, stride), scope, "sc")
        return F.pad(x[:, :, ::stride, ::stride], (0, 0, 0, 0, 0, filters - x.shape[1]))

    def unit(self, x, scope, width, stride):
        y = x
        if self.case.bottleneck:
            groups = self.case.convolution_groups
            middle = width
            if groups > 1:  # the width of the first stage's groups together, doubled in each stage as `width` is
                middle = groups * self.case.group_dim * (width // (64 if self.case.imagenet else 16))
            layers = [(middle, 1, 1, 1), (middle, 3, stride, groups), (4 * width, 1, 1, 1)]
        else:
            layers = [(width, 3, stride, 1), (width, 3, 1, 1)]
        for i, (filters, kernel, s, groups) in enumerate(layers, start=1):
            y = self.norm(self.conv(y, f"{scope}/conv{i}", filters, kernel, s, groups), scope, str(i))
            if i < len(layers):
                y = self.relu(y, scope, str(i))
        return self.relu(y + self.shortcut(x, scope, y.shape[1], stride), scope, str(len(layers)))

    def logits(self, images):
        x = self.stem(torch.from_numpy(images).to(self.dtype).permute(0, 3, 1, 2))
        width = 64 if self.case.imagenet else 16
        for stage, units in enumerate(self.case.units, start=1):
            for unit in range(1, units + 1):
                stride = 2 if unit == 1 and stage > 1 else 1
                x = self.unit(x, f"all/stage{stage}/unit{unit}", width << (stage - 1), stride)
        return self.dense(x.mean((2, 3)), "all/fc1")

    def loss(self, images, labels):
        """Mean cross-entropy; targets 1 - s on the class and s / (classes - 1) elsewhere."""
        log_p = F.log_softmax(self.logits(images), dim=1)
        s = self.case.label_smoothing
        targets = torch.full_like(log_p, s / (self.case.classes - 1))
        targets.scatter_(1, torch.from_numpy(labels)[:, None], 1.0 - s)
        return -(targets * log_p).sum(1).mean()


class EfficientnetB0(Network):
    """EfficientNet-B0 with swish and squeeze-excite, nothing dropped."""
    kernel, phi = "/kernel", staticmethod(F.silu)
    # kernel, stride of the first block, expanded, output channels, blocks
    stages = ((3, 1, False, 16, 1), (3, 2, True, 24, 2), (5, 2, True, 40, 2), (3, 2, True, 80, 3),
              (5, 1, True, 112, 3), (5, 2, True, 192, 4), (3, 1, True, 320, 1))

    def norm_leaf(self, scope, suffix):
        return scope + ("/GroupNorm" if self.case.group_norm_groups else "/batch_norm")

    def conv_norm(self, x, scope, filters, kernel, stride=1, groups=1):
        return self.norm(self.conv(x, scope + "/conv/conv2d", filters, kernel, stride, groups), scope, "")

    def gate(self, x, scope, squeezed):
        """The factor of squeeze-excite."""
        y = self.conv(x.mean((2, 3), keepdim=True), scope + "/squeeze/conv2d", squeezed, 1)
        y = self.phi(y + self.variable(scope + "/squeeze/conv2d/bias", (squeezed,))[:, None, None])
        y = self.conv(y, scope + "/excite/conv2d", x.shape[1], 1)
        return torch.sigmoid(y + self.variable(scope + "/excite/conv2d/bias", (x.shape[1],))[:, None, None])

    def block(self, x, scope, filters, kernel, stride, ratio):
        inputs = x.shape[1]
        y = x
        if ratio != 1:
            y = F.silu(self.conv_norm(y, scope + "/a", inputs * ratio, 1))
        groups = max(y.shape[1] // self.case.group_dim, 1)
        y = F.silu(self.conv_norm(y, scope + "/b", y.shape[1], kernel, stride, groups))
        y = y * self.gate(y, scope + "/b/se", inputs // 4)
        y = self.conv_norm(y, scope + "/c", filters, 1)
        return x + y if stride == 1 and inputs == filters else y

    def logits(self, images):
        x = torch.from_numpy(images).to(self.dtype).permute(0, 3, 1, 2)
        x = F.silu(self.conv_norm(x, "all/block0", 32, 3, 2))
        for stage, (kernel, stride, expanded, filters, blocks) in enumerate(self.stages, start=1):
            for block in range(blocks):
                scope = f"all/block{stage}{'abcdefgh'[block]}"
                ratio = self.case.expand_ratio if expanded else 1
                x = self.block(x, scope, filters, kernel, stride if block == 0 else 1, ratio)
        x = F.silu(self.conv_norm(x, "all/Top", 1280, 1))
        return self.dense(x.mean((2, 3)), "all/Top/logits/dense")


NETWORKS = {"resnet": Network, "resnext": Network, "efficientnet": EfficientnetB0}


def backward(case, net, step):
    """The mean loss of the micro-batches of an update; leaves the gradients in the variables, and the batch's
    statistics in the moving ones."""
    total, statistics = 0.0, {}
    for variable in net.variables.values():
        variable.grad = None
    for j in range(case.micro_batches):
        loss = net.loss(*batch(case, step * case.micro_batches + j)) / case.micro_batches
        loss.backward()
        total += loss.item()
        for name, value in net.batch_statistics.items():
            statistics[name] = statistics.get(name, 0.0) + value / case.micro_batches
    for name, value in statistics.items():
        net.moving[name] = case.bn_decay * net.moving[name] + (1 - case.bn_decay) * value
    return total


def train_step(case, net, step, velocity):
    """Returns loss and gradients (without weight decay); updates all variables."""
    total, gradients = backward(case, net, step), {}
    with torch.no_grad():
        for name, variable in net.variables.items():
            gradients[name] = variable.grad.clone()
            g = variable.grad
            if not any(part in name for part in case.undecayed):
                g = g + case.weight_decay * variable
            velocity[name] = case.momentum * velocity.get(name, 0.0) + g
            variable -= case.learning_rate * velocity[name]
    return total, gradients


def choose(case):
    """The choices of beta, made on all images of step 1 at once."""
    joined = NETWORKS[case.family](case)
    with torch.no_grad():
        joined.logits(np.concatenate([batch(case, j)[0] for j in range(case.micro_batches)]))
    return joined.choices


def run(case, choices):
    net, velocity, losses, first = NETWORKS[case.family](case, choices), {}, [], None
    for step in range(STEPS):
        loss, gradients = train_step(case, net, step, velocity)
        losses.append(loss)
        first = first or gradients
    return net, losses, first


def short(value):
    return float(f"{value:.10g}")


def summary(name, tensor):
    """Euclidean norm, products with the +-1 patterns, and SAMPLES elements spread evenly from first to last."""
    values = tensor.detach().to(torch.float64).numpy().reshape(-1)
    at = [k * (values.size - 1) // (SAMPLES - 1) for k in range(SAMPLES)]
    return {"shape": list(tensor.shape), "norm": short(np.linalg.norm(values)),
            "products": [short(values @ pattern(name, k, values.size)) for k in range(PATTERNS)],
            "elements": [short(values[i]) for i in at]}


def write_training(name, settings, choices, losses, first, net):
    summaries = lambda tensors: {key: summary(key, value) for key, value in tensors.items()}
    write(f"{name}.json", golden_text({
        "settings": settings, "beta_choices": choices, "losses": losses, "gradients_of_step_1": summaries(first),
        "moving_after_last_step": summaries(net.moving), "parameters_after_last_step": summaries(net.variables),
    }, whole=("settings", "losses")))


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        case = make_case(CASES[name])
        choices = choose(case)
        net, losses, gradients = run(case, choices)
        settings = {key: getattr(case, key) for key in list(DEFAULTS)[:13 if case.family == "resnet" else None]}
        write_training(name, settings, choices, losses, gradients, net)
