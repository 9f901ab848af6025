#!/usr/bin/env python3
"""Golden numbers for tests/golden/bert.json: ten updates of small BERT models in PyTorch, float64.

An implementation that shares nothing with cnntrain but the description of the model and of its optimisers, and the
formulas for weights and sequences below (tests/golden/bert_test.cpp has the same in C++).
"""

import collections
import math

import numpy as np
import torch

from golden_text import lines, write
from make_golden import mix, noise

V, H, HEADS, LAYERS, WIDE, POSITIONS, SEGMENTS = 61, 128, 2, 2, 96, 24, 2
B, S, M, STEPS, MICRO_BATCHES = 3, 16, 4, 10, 2
SIGNS = 3  # patterns of +-1 that every gradient is multiplied with


Case = collections.namedtuple("Case", "name traits optimiser rate clip", defaults=[0.0])  # clip: all gradients' norm
CASES = [
    Case("static_lamb", "static_mask split prediction_bias", "lamb", 0.005),
    Case("normal_lamb_corrected", "projection_bias cls_layer prediction_bias debias nvlamb", "lamb", 0.005, 1.5),
    Case("static_adamw", "static_mask split qkv_bias projection_bias cls_layer debias", "adamw", 0.0005, 1.0),
    Case("normal_momentum", "split projection_bias prediction_bias", "momentum", 0.05),
]


def start(name, shape):
    value = noise(name, math.prod(shape))
    if name.endswith("gamma"):
        value = 1.0 + 0.25 * value
    elif name.endswith(("beta", "bias")):
        value = 0.25 * value
    else:
        value = value * math.sqrt(3.0 / shape[0]) if not name.endswith(("embeddings", "weights")) else 0.5 * value
    return torch.tensor(value.astype(np.float32).astype(np.float64).reshape(shape), requires_grad=True)


def shapes(case):
    result = {"bert/embeddings/word_embeddings": (V, H), "bert/embeddings/position_embeddings": (POSITIONS, H),
              "bert/embeddings/token_type_embeddings": (SEGMENTS, H)}

    def norm(scope):
        result[f"{scope}/LayerNorm/beta"] = (H,)
        result[f"{scope}/LayerNorm/gamma"] = (H,)

    def dense(scope, inputs, outputs, bias=True):
        result[f"{scope}/kernel"] = (inputs, outputs)
        if bias:
            result[f"{scope}/bias"] = (outputs,)

    norm("bert/embeddings")
    for i in range(LAYERS):
        scope = f"bert/encoder/layer_{i}"
        if "split" in case.traits:
            dense(f"{scope}/attention/self/query", H, H, ("qkv_bias" in case.traits))
            dense(f"{scope}/attention/self/key", H, H, False)
            dense(f"{scope}/attention/self/value", H, H, ("qkv_bias" in case.traits))
        else:
            result[f"{scope}/attention/self/kernel/qkv_weight"] = (H, 3 * H)
        dense(f"{scope}/attention/projection/dense", H, H, ("projection_bias" in case.traits))
        norm(f"{scope}/attention/projection")
        dense(f"{scope}/intermediate/dense", H, WIDE)
        dense(f"{scope}/output/dense", WIDE, H)
        norm(f"{scope}/output")
    if "cls_layer" in case.traits:
        dense("cls/predictions/transform/dense", H, H)
        norm("cls/predictions/transform")
    if "prediction_bias" in case.traits:
        result["cls/predictions/output_bias"] = (V,)
    dense("bert/pooler/dense", H, H)
    result["cls/seq_relationship/output_weights"] = (2, H)
    result["cls/seq_relationship/output_bias"] = (2,)
    return result


def sequences(index, case):
    def integers(name, count, low, high):
        return low + mix(f"{name}/{index}", count).astype(np.int64) % (high - low)

    batch = {"input_ids": integers("ids", B * S, 0, V + 2).reshape(B, S),  # two of V + 2 words have no row
             "segment_ids": integers("segments", B * S, 0, SEGMENTS).reshape(B, S),
             "masked_lm_ids": integers("masked", B * M, 0, V + 1).reshape(B, M),
             "next_sentence_labels": integers("next", B, 0, 2)}
    masked = integers("count", B, 1, M + 1)
    length = integers("length", B, M + 2, S + 1)
    batch["masked_lm_weights"] = (np.arange(M)[None] < masked[:, None]).astype(np.float64)
    if "static_mask" in case.traits:
        batch["input_position"] = integers("positions", B * S, 0, POSITIONS).reshape(B, S)
        keys = np.arange(S)[None]
        batch["keep"] = ((keys < masked[:, None]) | (keys >= M)) & (keys < length[:, None])
    else:
        batch["input_position"] = np.broadcast_to(np.arange(S), (B, S)).copy()
        batch["keep"] = np.arange(S)[None] < length[:, None]
        batch["masked_lm_positions"] = integers("places", B * M, 0, M + 2).reshape(B, M)
    return batch


def layer_norm(v, scope, x):
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return v[f"{scope}/LayerNorm/gamma"] * (x - mean) / torch.sqrt(variance + 0.001) + v[f"{scope}/LayerNorm/beta"]


def dense(v, scope, x):
    y = x @ v[f"{scope}/kernel"]
    return y + v[f"{scope}/bias"] if f"{scope}/bias" in v else y


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def attention(v, scope, x, mask):
    if f"{scope}/query/kernel" in v:
        q, k, values = (dense(v, f"{scope}/{part}", x) for part in ("query", "key", "value"))
    else:
        q, k, values = (x @ v[f"{scope}/kernel/qkv_weight"]).split(H, dim=-1)
    heads = [t.reshape(B, S, HEADS, H // HEADS).transpose(1, 2) for t in (q, k, values)]
    scores = heads[0] @ heads[1].transpose(2, 3) / math.sqrt(H // HEADS) + mask[:, None, None, :]
    return (scores.softmax(-1) @ heads[2]).transpose(1, 2).reshape(B, S, H)


def losses(case, v, batch):
    ids = torch.tensor(batch["input_ids"])
    table = torch.cat([v["bert/embeddings/word_embeddings"], torch.zeros(2, H, dtype=torch.float64)])
    x = table[ids] + v["bert/embeddings/position_embeddings"][torch.tensor(batch["input_position"])]
    segments = torch.tensor(batch["segment_ids"])
    x = layer_norm(v, "bert/embeddings", x + v["bert/embeddings/token_type_embeddings"][segments])
    mask = (1 - torch.tensor(batch["keep"]).double()) * -1000
    for i in range(LAYERS):
        scope = f"bert/encoder/layer_{i}"
        projected = dense(v, f"{scope}/attention/projection/dense", attention(v, f"{scope}/attention/self", x, mask))
        y = layer_norm(v, f"{scope}/attention/projection", x + projected)
        wide = gelu(dense(v, f"{scope}/intermediate/dense", y))
        x = layer_norm(v, f"{scope}/output", y + dense(v, f"{scope}/output/dense", wide))
    if "static_mask" in case.traits:
        rows = x[:, :M]
    else:
        places = torch.tensor(batch["masked_lm_positions"])
        rows = torch.gather(x, 1, places[:, :, None].expand(B, M, H))
    rows = rows.reshape(B * M, H)
    if "cls_layer" in case.traits:
        rows = layer_norm(v, "cls/predictions/transform", gelu(dense(v, "cls/predictions/transform/dense", rows)))
    logits = rows @ v["bert/embeddings/word_embeddings"].T
    if "prediction_bias" in case.traits:
        logits = logits + v["cls/predictions/output_bias"]
    labels = torch.tensor(batch["masked_lm_ids"]).reshape(-1)
    weights = torch.tensor(batch["masked_lm_weights"]).reshape(-1)
    known = labels < V
    picked = torch.log_softmax(logits, -1)[torch.arange(B * M), labels.clamp(max=V - 1)]
    masked_loss = -(weights * known * picked).sum() / (weights.sum() + 1e-5)
    masked_correct = ((logits.argmax(-1) == labels) * weights).sum() / weights.sum()
    pooled = torch.tanh(dense(v, "bert/pooler/dense", x[:, M if "static_mask" in case.traits else 0]))
    scores = pooled @ v["cls/seq_relationship/output_weights"].T + v["cls/seq_relationship/output_bias"]
    nexts = torch.tensor(batch["next_sentence_labels"])
    next_loss = -torch.log_softmax(scores, -1)[torch.arange(B), nexts].mean()
    next_correct = (scores.argmax(-1) == nexts).double().mean()
    return masked_loss, next_loss, masked_correct, next_correct


class Optimiser:
    def __init__(self, case):
        self.case, self.first, self.second, self.step = case, {}, {}, 0

    def update(self, v, gradients):
        case = self.case
        self.step += 1
        norm = math.sqrt(sum((g**2).sum().item() for g in gradients.values()))
        factor = 1.0
        if case.clip:
            factor = min(1.0, case.clip / norm)
        if "nvlamb" in case.traits:
            factor /= max(1.0, norm * factor)
        for name, g in gradients.items():
            v[name].data -= self.change(name, v[name].data, g * factor)

    def change(self, name, w, g):
        case = self.case
        first = self.first.get(name, torch.zeros_like(w))
        if case.optimiser == "momentum":
            self.first[name] = 0.9 * first + g
            return case.rate * self.first[name]
        self.first[name] = 0.9 * first + 0.1 * g
        self.second[name] = 0.999 * self.second.get(name, torch.zeros_like(w)) + 0.001 * g * g
        mean, square = self.first[name], self.second[name]
        if case.optimiser == "adamw":
            decay = 0.0 if "LayerNorm" in name or "bias" in name else 0.01
            ahead = self.step + 1
            scale = math.sqrt(1 - 0.999**ahead) / (1 - 0.9**ahead) if "debias" in case.traits else 1.0
            return case.rate * (mean / (torch.sqrt(square) + 1e-6) + decay * w) * scale
        if "debias" in case.traits:
            mean, square = mean / (1 - 0.9**self.step), square / (1 - 0.999**self.step)
        decay = 0.0 if "bias" in name or "beta" in name else 0.01
        u = mean / (torch.sqrt(square) + 1e-6) + decay * w
        if "bias" in name or "beta" in name or "gamma" in name:
            return case.rate * u
        parts = zip(w.split(H, 1), u.split(H, 1)) if "qkv" in name else [(w, u)]
        return torch.cat([case.rate * (a.norm() / b.norm() if a.norm() > 0 and b.norm() > 0 else 1.0) * b
                          for a, b in parts], dim=1)


def facts(name, tensor):
    """The norm of a tensor, and its products with patterns of signs."""
    flat = tensor.detach().numpy().ravel()
    signs = lambda k: np.where(mix(f"{name}/sign{k}", flat.size) & np.uint32(1), -1.0, 1.0)
    projections = [float(flat @ signs(k)) for k in range(SIGNS)]
    return [float(np.linalg.norm(flat))] + projections


def run(case):
    v = {name: start(name, shape) for name, shape in shapes(case).items()}
    optimiser = Optimiser(case)
    result = {"mlm_loss": [], "nsp_loss": [], "mlm_acc": [], "nsp_acc": []}
    for step in range(STEPS):
        sums = np.zeros(4)
        for tensor in v.values():
            tensor.grad = None
        for micro_batch in range(MICRO_BATCHES):
            values = losses(case, v, sequences(step * MICRO_BATCHES + micro_batch, case))
            (values[0] + values[1]).backward()
            sums += [x.item() for x in values]
        for key, value in zip(result, sums / MICRO_BATCHES):
            result[key].append(value)
        gradients = {name: tensor.grad / MICRO_BATCHES for name, tensor in v.items()}
        if step == 0:
            first = {name: facts(name, g) for name, g in gradients.items()}
        optimiser.update(v, gradients)
    result["gradients"] = first
    result["variables"] = {name: facts(name, tensor) for name, tensor in v.items()}
    return result


if __name__ == "__main__":
    write("bert.json", lines({case.name: run(case) for case in CASES}))
