#!/usr/bin/env python3
"""Golden numbers for tests/golden/proxy_norm_test.cpp: training steps of small EfficientNets with proxy norm, in
float64.

The proxy samples are differentiated by PyTorch's autograd, so the rules that cnntrain has for them are not written down
here a second time. Weights and images come from make_golden.py.
"""

import math

import torch
import torch.nn.functional as F

import make_golden as base

QUANTILES = math.sqrt(2) * torch.erfinv(2 * (torch.arange(200, dtype=torch.float64) + 0.5) / 200 - 1)
BETA, GAMMA, MEAN, INVERSE_DEVIATION, PROXY_BETA, PROXY_GAMMA = range(6)
STEPS = 3

COMMON = {
    "family": "efficientnet", "size": "CIFAR", "imagenet": False, "classes": 10, "image_size": 32, "micro_batch": 4,
    "micro_batches": 1, "epsilon": 1e-3, "depth_coefficient": 0.1, "expand_ratio": 2, "label_smoothing": 0.1,
    "bn_decay": 0.97, "learning_rate": 0.01, "momentum": 0.0, "weight_decay": 1e-3, "undecayed": [],
    "rmsprop_decay": 0.0, "proxy_norm": True, "proxy_epsilon": 0.03, "use_relu": False, "no_se": False,
    "group_norm_groups": 0,
}
CASES = {
    "proxy_norm_swish_bn": {"micro_batches": 2, "momentum": 0.9, "undecayed": ["beta", "gamma", "proxy", "moving_"]},
    "proxy_norm_swish_gn": {"group_norm_groups": 4, "rmsprop_decay": 0.9, "momentum": 0.9, "learning_rate": 0.001},
    "proxy_norm_relu_bn": {"use_relu": True, "no_se": True},
    "proxy_norm_relu_gn": {"use_relu": True, "group_norm_groups": 4, "proxy_epsilon": 0.1},
}


class ProxyNetwork(base.EfficientnetB0):
    """EfficientNet of the CIFAR size with one block per stage, proxy-normalised, nothing dropped."""
    # kernel, stride, output channels
    stages = ((3, 1, 8), (3, 1, 16), (5, 2, 24), (3, 2, 40), (5, 1, 56), (5, 2, 96), (3, 1, 160))

    def variable(self, name, shape):
        if name.endswith("/proxy") and name not in self.variables:
            values = 0.25 * base.noise(name, math.prod(shape)).reshape(shape)
            values[[GAMMA, INVERSE_DEVIATION]] += 1.0
            self.variables[name] = torch.from_numpy(values.astype("float32")).to(self.dtype).requires_grad_()
        return super().variable(name, shape)

    def phi(self, x):
        return F.relu(x) if self.case.use_relu else F.silu(x)

    def pure_norm(self, x, scope):
        if self.case.group_norm_groups:
            return F.group_norm(x, self.case.group_norm_groups, eps=self.case.epsilon)
        self.observe(scope + "/batch_norm", x)
        return F.batch_norm(x, None, None, training=True, eps=self.case.epsilon)

    def activation(self, x, scope, filters, kernel, stride=1, groups=1):
        """The activation without its proxy mean, and its inverse proxy deviation."""
        x = self.pure_norm(self.conv(x, scope + "/conv/conv2d", filters, kernel, stride, groups), scope)
        rows = self.variable(scope + "/proxy", (6, 1, 1, filters)).reshape(6, 1, filters, 1, 1)
        return self.phi(rows[GAMMA] * x + rows[BETA]) - rows[MEAN], rows[INVERSE_DEVIATION]

    def block(self, x, scope, filters, kernel, stride, ratio):
        inputs = x.shape[1]
        if ratio != 1:
            y, scale = self.activation(x, scope + "/a", inputs * ratio, 1)
            x = y * scale
        x, scale = self.activation(x, scope + "/b", x.shape[1], kernel, stride, x.shape[1])
        if not self.case.no_se:
            x = x * (self.gate(x, scope + "/b/se", inputs // 4) * scale)
        x = self.pure_norm(self.conv(x, scope + "/c/conv/conv2d", filters, 1), scope + "/c")
        leaf = "/GroupNorm" if self.case.group_norm_groups else "/batch_norm"
        return x * self.variable(scope + "/c" + leaf + "/gamma", (filters,))[:, None, None]

    def logits(self, images):
        x = torch.from_numpy(images).to(self.dtype).permute(0, 3, 1, 2)
        x, scale = self.activation(x, "all/block0", 16, 3)
        x = x * scale
        for stage, (kernel, stride, filters) in enumerate(self.stages, start=1):
            ratio = self.case.expand_ratio if stage > 1 else 1
            x = self.block(x, f"all/block{stage}a", filters, kernel, stride, ratio)
        x, _ = self.activation(x, "all/Top", 640, 1)
        return self.dense(x.mean((2, 3)), "all/Top/logits/dense")

    def statistics(self, rows):
        z = QUANTILES[:, None]
        rows = rows.reshape(6, -1)
        p = self.phi(rows[GAMMA] * ((1 + rows[PROXY_GAMMA]) * z + rows[PROXY_BETA]) + rows[BETA])
        return p.mean(0), 1 / torch.sqrt(p.var(0, unbiased=False) + self.case.proxy_epsilon)


def carried(net, rows, gradient):
    """The gradients of mean and inverse deviation, carried to the other rows."""
    leaf = rows.detach().clone().requires_grad_()
    arriving = gradient.reshape(6, -1)
    torch.autograd.backward(net.statistics(leaf), (arriving[MEAN], arriving[INVERSE_DEVIATION]))
    result = gradient + leaf.grad
    result[[MEAN, INVERSE_DEVIATION]] = 0.0
    result[[PROXY_BETA, PROXY_GAMMA]] += net.case.weight_decay * rows[[PROXY_BETA, PROXY_GAMMA]]
    return result


def update(net, name, variable, gradient, slots):
    case = net.case
    g = gradient
    if not any(part in name for part in case.undecayed):
        g = g + case.weight_decay * variable
    velocity, square = slots.get(name, (torch.zeros_like(g), torch.ones_like(g)))
    if case.rmsprop_decay > 0:
        square = case.rmsprop_decay * square + (1 - case.rmsprop_decay) * g * g
        velocity = case.momentum * velocity + case.learning_rate * g / torch.sqrt(square + 1e-3)
        variable -= velocity
    else:
        velocity = case.momentum * velocity + g
        variable -= case.learning_rate * velocity
    slots[name] = (velocity, square)
    if name.endswith("/proxy"):
        variable.reshape(6, -1)[[MEAN, INVERSE_DEVIATION]] = torch.stack(net.statistics(variable))


def train_step(net, step, slots):
    total, gradients = base.backward(net.case, net, step), {}
    for name, variable in net.variables.items():
        is_proxy = name.endswith("/proxy")
        gradients[name] = carried(net, variable, variable.grad).detach() if is_proxy else variable.grad.clone()
    with torch.no_grad():
        for name, variable in net.variables.items():
            update(net, name, variable, gradients[name], slots)
    return total, gradients


if __name__ == "__main__":
    for name, own in CASES.items():
        settings = {**COMMON, **own}
        net = ProxyNetwork(base.make_case(settings), {})
        slots, losses, first = {}, [], None
        for step in range(STEPS):
            loss, gradients = train_step(net, step, slots)
            losses.append(loss)
            first = first or gradients
        base.write_training(name, settings, {}, losses, first, net)
