#!/usr/bin/env python3
"""Golden numbers for tests/golden/answers.json: transformers' BertForQuestionAnswering, and its classifier with one
output as a regression, in float64.

"updates" (questions) and "score_updates" (regression): twenty updates from the same weights, with the losses before
each of them and the last weights. Weights and features follow from the formulas below (tests/golden/answers_test.cpp
has the same in C++). The optimiser is written down here again: AdamW whose step is corrected one update ahead, after
all gradients' norm has been limited to 1. "row_losses": the loss of given logits. A position beyond the tokens
contributes 0, and still counts in the mean.

Committed numbers were made with Python 3.11.7, torch 2.15.0 (on the CPU), transformers 5.24.0 and numpy 2.4.6.
"""

import math

import numpy as np
import torch
from transformers import BertConfig, BertForQuestionAnswering, BertForSequenceClassification

from golden_text import golden_text, write
from make_bert_golden import facts, start
from make_golden import mix

V, H, HEADS, LAYERS, WIDE, POSITIONS = 61, 64, 2, 2, 96, 40
B, S, STEPS = 8, 32, 20
RATE, WARMUP, DECAY, EPSILON, LIMIT = 0.002, 4, 0.01, 1e-6, 1.0

# The parts of names that differ: transformers' (of one layer, or of the rest), and cnntrain's.
RENAMED = [
    ("bert.embeddings.word_embeddings.weight", "bert/embeddings/word_embeddings"),
    ("bert.embeddings.position_embeddings.weight", "bert/embeddings/position_embeddings"),
    ("bert.embeddings.token_type_embeddings.weight", "bert/embeddings/token_type_embeddings"),
    ("qa_outputs.weight", "cls/squad/output_weights"),
    ("qa_outputs.bias", "cls/squad/output_bias"),
    ("classifier.weight", "cls/classifier/output_weights"),
    ("classifier.bias", "cls/classifier/output_bias"),
    ("encoder.layer.", "encoder.layer_"),
    ("attention.output", "attention.projection"),
    ("LayerNorm.weight", "LayerNorm.gamma"),
    ("LayerNorm.bias", "LayerNorm.beta"),
    (".weight", ".kernel"),
]

# They add one number to the scores of all tokens, on which a softmax over them does not depend: their gradients are
# rounding.
IDLE = ("cls/squad/output_bias", f"bert/encoder/layer_{LAYERS - 1}/output/LayerNorm/beta")


def own_name(name):
    for theirs, ours in RENAMED:
        name = name.replace(theirs, ours)
    return name.replace(".", "/")


def own_layout(name, tensor):
    """Kernels are [inputs, outputs] in cnntrain."""
    return tensor.T if name.endswith("kernel") else tensor


def make_model(network, **more):
    model = network(BertConfig(
        vocab_size=V, hidden_size=H, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=WIDE,
        max_position_embeddings=POSITIONS, type_vocab_size=2, hidden_act="gelu", layer_norm_eps=1e-12,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager", **more)).double()
    # transformers gives the row of the word 0 no gradient; the original program and cnntrain do, as for any other word.
    model.bert.embeddings.word_embeddings.padding_idx = None
    trained = {}
    for name, parameter in model.named_parameters():
        if "key.bias" in name:  # which changes nothing, and which cnntrain does not have
            parameter.data.zero_()
            parameter.requires_grad = False
            continue
        ours = own_name(name)
        parameter.data = own_layout(ours, start(ours, own_layout(ours, parameter).shape).detach()).clone().contiguous()
        trained[ours] = parameter
    return model.train(), trained


def features(index):
    def integers(name, count, low, high):
        return low + mix(f"{name}/{index}", count).astype(np.int64) % (high - low)

    length = integers("length", B, 8, S + 1)
    question = integers("question", B, 2, 7)
    column = np.arange(S)[None]
    ids = np.where(column < length[:, None], integers("ids", B * S, 1, V).reshape(B, S), 0)
    segments = ((column >= question[:, None]) & (column < length[:, None])).astype(np.int64)
    first = question + integers("first", B, 0, S) % (length - question)
    last = first + integers("last", B, 0, S) % (length - first)
    absent = integers("absent", B, 0, 4) == 0  # the window lacks the answer
    positions = np.stack([np.where(absent, 0, first), np.where(absent, 0, last)], axis=1)
    mask = (column < length[:, None]).astype(np.int64)
    inputs = {"input_ids": ids, "token_type_ids": segments, "attention_mask": mask}
    scores = integers("score", B, -8, 9) / 4
    return {name: torch.tensor(x) for name, x in inputs.items()}, torch.tensor(positions), torch.tensor(scores)


def rate(step):
    """Polynomial decay of power 1 after a linear warm-up; 1e-7 at least."""
    return max(RATE * step / WARMUP if step <= WARMUP else RATE * (STEPS - step - 1) / (STEPS - WARMUP), 1e-7)


class Optimiser:
    def __init__(self, parameters):
        self.parameters = parameters
        self.means = {name: (torch.zeros_like(p), torch.zeros_like(p)) for name, p in parameters.items()}
        self.norms = []

    @torch.no_grad()
    def update(self, step):
        norm = math.sqrt(sum((p.grad ** 2).sum().item() for p in self.parameters.values()))
        self.norms.append(norm)
        ahead = step + 2
        size = rate(step) * math.sqrt(1 - 0.999 ** ahead) / (1 - 0.9 ** ahead)
        for name, p in self.parameters.items():
            gradient = p.grad * min(1.0, LIMIT / norm)
            mean, square = self.means[name]
            mean.mul_(0.9).add_(0.1 * gradient)
            square.mul_(0.999).add_(0.001 * gradient ** 2)
            decay = 0.0 if "LayerNorm" in name or "bias" in name else DECAY
            p -= size * (mean / (square.sqrt() + EPSILON) + decay * p)


def answers_loss(model, inputs, positions, _):
    return model(**inputs, start_positions=positions[:, 0], end_positions=positions[:, 1]).loss


def scores_loss(model, inputs, _, scores):
    return model(**inputs, labels=scores).loss


def updates(model, trained, loss_of, idle):
    optimiser, losses = Optimiser(trained), []
    for step in range(STEPS):
        model.zero_grad()
        loss = loss_of(model, *features(step))
        loss.backward()
        if step == 0:
            first = {name: facts(name, own_layout(name, p.grad)) for name, p in trained.items() if name not in idle}
        losses.append(loss.item())
        optimiser.update(step)
    print("norms of gradients", [round(norm, 3) for norm in optimiser.norms])
    return {"losses": losses, "rates": [rate(step) for step in range(STEPS)], "gradients": first,
            "variables": {name: facts(name, own_layout(name, p)) for name, p in trained.items()}}


# Logits of the first and of the last token [rows, tokens], and positions; the second one's are beyond the tokens.
ROWS = [
    {"start_logits": [[0.5, -1.0, 2.0, 0.0, 1.0, -2.0], [1.0, 1.0, 0.0, -1.0, 3.0, 0.25]],
     "end_logits": [[0.0, 0.5, 1.0, -0.5, 2.0, 1.0], [2.0, -2.0, 0.0, 1.0, 0.0, 1.0]], "start": [2, 4], "end": [4, 0]},
    {"start_logits": [[0.5, -1.0, 2.0, 0.0, 1.0, -2.0], [1.0, 1.0, 0.0, -1.0, 3.0, 0.25], [0.25, 1.5, 0, 0, 3, -4]],
     "end_logits": [[0.0, 0.5, 1.0, -0.5, 2.0, 1.0], [2.0, -2.0, 0.0, 1.0, 0.0, 1.0], [4, 1, 0, -1.5, 0.75, 0]],
     "start": [-1, 4, 6], "end": [-1, 6, 5]},
]


def row_loss(rows):
    def mean(logits, positions):
        scores = torch.log_softmax(torch.tensor(logits, dtype=torch.float64), -1)
        return -sum(scores[i, at].item() for i, at in enumerate(positions) if 0 <= at < scores.shape[1]) / len(logits)

    return (mean(rows["start_logits"], rows["start"]) + mean(rows["end_logits"], rows["end"])) / 2


if __name__ == "__main__":
    document = {f"row_losses_{i}": {**rows, "loss": row_loss(rows)} for i, rows in enumerate(ROWS)}
    document["updates"] = updates(*make_model(BertForQuestionAnswering, num_labels=2), answers_loss, IDLE)
    document["score_updates"] = updates(
        *make_model(BertForSequenceClassification, num_labels=1, problem_type="regression"), scores_loss, ())
    write("answers.json", golden_text(document))
