#!/usr/bin/env python3
"""Golden numbers for tests/golden/optimisers.json: every optimiser and every learning-rate schedule for ten updates.

Plain NumPy in float64 on a small dense network: one hidden layer with ReLU, softmax cross-entropy. It shares nothing
with cnntrain but the formulas of the optimisers (their papers, TensorFlow 1's RMSprop) and of the numbers below.
"""

import math

import numpy as np

from golden_text import lines, write
from make_golden import noise

SAMPLES, INPUTS, HIDDEN, CLASSES, STEPS = 8, 12, 16, 5, 10
L2 = 1e-3
SHAPES = {"all/fc0/weight": (INPUTS, HIDDEN), "all/fc0/bias": (HIDDEN,),
          "all/fc1/weight": (HIDDEN, CLASSES), "all/fc1/bias": (CLASSES,)}


def start(name):
    return 0.5 * noise(name, math.prod(SHAPES[name])).astype(np.float32).astype(np.float64).reshape(SHAPES[name])


def batch(step):
    x = noise(f"toy/{step}", SAMPLES * INPUTS).astype(np.float32).astype(np.float64).reshape(SAMPLES, INPUTS)
    return x, (np.arange(SAMPLES) * 3 + step) % CLASSES


def loss_and_gradients(v, x, labels):
    pre = x @ v["all/fc0/weight"] + v["all/fc0/bias"]
    hidden = np.maximum(pre, 0)
    logits = hidden @ v["all/fc1/weight"] + v["all/fc1/bias"]
    shifted = logits - logits.max(1, keepdims=True)
    p = np.exp(shifted) / np.exp(shifted).sum(1, keepdims=True)
    loss = -np.log(p[np.arange(SAMPLES), labels]).mean()
    d = (p - np.eye(CLASSES)[labels]) / SAMPLES
    dh = (d @ v["all/fc1/weight"].T) * (pre > 0)
    return loss, {"all/fc0/weight": x.T @ dh, "all/fc0/bias": dh.sum(0),
                  "all/fc1/weight": hidden.T @ d, "all/fc1/bias": d.sum(0)}


class Optimiser:
    def __init__(self, kind):
        self.kind, self.velocity, self.square, self.step = kind, {}, {}, {}

    def adam(self, name, w, g):
        """Means with corrected bias, and decoupled weight decay: Loshchilov and Hutter 2019."""
        self.step[name] = self.step.get(name, 0) + 1
        self.velocity[name] = 0.9 * self.velocity.get(name, np.zeros_like(w)) + 0.1 * g
        self.square[name] = 0.999 * self.square.get(name, np.zeros_like(w)) + 0.001 * g * g
        mean = self.velocity[name] / (1 - 0.9 ** self.step[name])
        square = self.square[name] / (1 - 0.999 ** self.step[name])
        return mean / (np.sqrt(square) + 1e-6) + L2 * w

    def update(self, name, w, g, rate):
        if self.kind == "AdamW":
            return w - rate * self.adam(name, w, g)
        if self.kind == "LAMB":  # You et al. 2020
            u = self.adam(name, w, g)
            wn, un = np.linalg.norm(w), np.linalg.norm(u)
            trust = wn / un if "bias" not in name and wn > 0 and un > 0 else 1.0
            return w - rate * trust * u
        g = g + L2 * w
        v = self.velocity.get(name, np.zeros_like(w))
        if self.kind == "SGD":
            return w - rate * g
        if self.kind in ("momentum", "nesterov"):  # as TensorFlow and PyTorch write them
            self.velocity[name] = 0.9 * v + g
            return w - rate * (self.velocity[name] if self.kind == "momentum" else g + 0.9 * self.velocity[name])
        if self.kind == "RMSprop":
            self.square[name] = 0.9 * self.square.get(name, np.ones_like(w)) + 0.1 * g * g
            self.velocity[name] = 0.9 * v + rate * g / np.sqrt(self.square[name] + 1e-3)
            return w - self.velocity[name]
        trust = 1.0
        if "bias" not in name:
            wn, gn = np.linalg.norm(w), np.linalg.norm(g)
            if wn > 0 and gn > 0:
                trust = 0.05 * wn / (gn + 5e-3 * wn + 1e-6)
            g = g + 5e-3 * w
        self.velocity[name] = 0.9 * v + rate * trust * g
        return w - self.velocity[name]


def schedule(kind, t):
    """base 0.5, 10 iterations in 5 epochs, 1 epoch of warm-up."""
    base, total, warm = 0.5, 10, 2
    if kind == "gradual":  # from 0.1, then linearly to 0
        return 0.1 + (base - 0.1) * t / warm if t < warm else base * (1 - (t - warm) / (total - warm))
    if kind == "stepped":
        rate = base * 0.1 ** sum(t > math.floor(f * total) for f in (0.4, 0.7))
    elif kind == "cosine":
        rate = 0.5 * base * (1 + math.cos(math.pi * t / total))
    elif kind == "exponential":
        rate = base * 0.8 ** math.floor(t * 5 / total * 4 / 5)
    else:
        if t <= warm:
            return t * base / warm
        end = 0.01 * base
        return (base - end) * (1 - (t - warm) / (total - warm)) ** 2 + end
    return t * rate / warm if t < warm else rate


def run(optimiser, rate_of):
    v, state, losses = {n: start(n) for n in SHAPES}, Optimiser(optimiser), []
    for step in range(STEPS):
        loss, gradients = loss_and_gradients(v, *batch(step))
        losses.append(loss)
        v = {n: state.update(n, w, gradients[n], rate_of(step)) for n, w in v.items()}
    return {"losses": losses, "norms": {n: float(np.linalg.norm(w)) for n, w in v.items()}}


if __name__ == "__main__":
    document = {f"optimiser/{k}": run(k, lambda _: 0.1)
                for k in ("SGD", "momentum", "RMSprop", "LARS", "AdamW", "LAMB", "nesterov")}
    for k in ("stepped", "cosine", "exponential", "polynomial", "gradual"):
        document[f"schedule/{k}"] = {"rates": [schedule(k, t) for t in range(STEPS)],
                                     **run("momentum", lambda t, k=k: schedule(k, t))}
    write("optimisers.json", lines(document))
