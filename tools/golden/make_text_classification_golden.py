#!/usr/bin/env python3
"""Golden numbers for tests/golden/hugging_face_classes.json: logits of Hugging Face's BertForSequenceClassification, in
float64.

Its weights follow from their names by the formula of make_hugging_face_golden.py, so that tests/golden/hugging_face.cpp
can make the same checkpoint. The sequences are drawn at random: single texts and pairs, padded to one length.

    python3 -m venv venv && venv/bin/pip install torch transformers numpy
    venv/bin/python tools/golden/make_text_classification_golden.py
"""

import json
import pathlib

import numpy as np
import torch
from make_hugging_face_golden import value
from transformers import BertConfig, BertForSequenceClassification

LENGTH, CLASSES = 24, 5
# (tokens of the first segment, tokens of the second one), special tokens included
PARTS = [(24, 0), (7, 0), (11, 6), (2, 3), (14, 10)]
SIZES = dict(vocab_size=97, hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=192,
             max_position_embeddings=40, type_vocab_size=2)


def make_model():
    config = BertConfig(hidden_act="gelu", layer_norm_eps=1e-12, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
                        num_labels=CLASSES, **SIZES)
    model = BertForSequenceClassification(config).eval()
    state = {key: value(key, tensor.shape) for key, tensor in model.state_dict().items() if tensor.is_floating_point()}
    missing = model.load_state_dict(state, strict=False).missing_keys
    assert all("position_ids" in key for key in missing), missing
    return model.double()


def main():
    random = np.random.default_rng(27)
    ids = np.zeros((len(PARTS), LENGTH), dtype=int)
    segments, mask = np.zeros_like(ids), np.zeros_like(ids)
    for row, (first, second) in enumerate(PARTS):
        used = first + second
        ids[row, :used] = random.integers(1, SIZES["vocab_size"], used)
        segments[row, first:used] = 1
        mask[row, :used] = 1
    labels = [i * 3 % CLASSES for i in range(len(PARTS))]
    with torch.no_grad():
        answer = make_model()(input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask),
                              token_type_ids=torch.tensor(segments), labels=torch.tensor(labels))
    document = {
        "input_ids": ids.tolist(), "segment_ids": segments.tolist(), "input_mask": mask.tolist(), "labels": labels,
        "loss": answer.loss.item(), "logits": [[round(x, 9) for x in row] for row in answer.logits.tolist()],
    }
    path = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "hugging_face_classes.json"
    path.write_text(json.dumps(document, separators=(",", ":")).replace("],\"", "],\n\"") + "\n")
    print(path, answer.loss.item())


if __name__ == "__main__":
    main()
