#!/usr/bin/env python3
"""Golden numbers for tests/golden/hugging_face_*.json: what Hugging Face's BertForPreTraining answers, in float64.

Its weights follow from the formula below and their names, so that tests/golden/hugging_face_test.cpp can make the same
checkpoint; the sentences are given on the command line, one in each line of a file, and come from nowhere else.

    python3 -m venv venv && venv/bin/pip install torch transformers numpy
    venv/bin/python tools/golden/make_hugging_face_golden.py SENTENCES VOCABULARY   # writes the tiny and the base
    model's file
"""

import json
import pathlib
import sys

import numpy as np
import torch
from make_golden import noise
from transformers import BertConfig, BertForPreTraining, BertTokenizer

LENGTH, MASKED, COLUMNS = 48, 5, 40

MODELS = {
    # Widths of a head are 64 in every size.
    "tiny": dict(vocab_size=30522, hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=256,
                 max_position_embeddings=64),
    "base": dict(vocab_size=30522, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                 intermediate_size=3072,
                 max_position_embeddings=512),
}
ACTIVATIONS = {"tiny": "gelu", "base": "gelu_new"}  # with erf, and its tanh form
EPSILONS = {"tiny": 1e-12, "base": 1e-3}


def value(name, shape):
    """In float32, as the checkpoint has it."""
    numbers = noise(name, int(np.prod(shape)))
    if name.endswith("LayerNorm.weight"):
        numbers = 1 + 0.25 * numbers
    elif name.endswith("bias"):
        numbers = 0.1 * numbers
    else:
        numbers = 0.06 * numbers
    return torch.tensor(numbers.astype(np.float32).reshape(shape))


def make_model(name):
    config = BertConfig(type_vocab_size=2, hidden_act=ACTIVATIONS[name], layer_norm_eps=EPSILONS[name],
                        hidden_dropout_prob=0, attention_probs_dropout_prob=0, **MODELS[name])
    model = BertForPreTraining(config).eval()
    state = {key: value(key, tensor.shape) for key, tensor in model.state_dict().items()
             if tensor.is_floating_point() and "decoder" not in key}
    missing = model.load_state_dict(state, strict=False)
    assert all("decoder" in key or "position_ids" in key for key in missing.missing_keys), missing
    model.tie_weights()
    return model.double()


def main():
    sentences = [line.strip() for line in open(sys.argv[1], encoding="utf-8") if line.strip()]
    tokenizer = BertTokenizer(sys.argv[2], do_lower_case=True)
    first, second = sentences[0::2], sentences[1::2]
    batch = tokenizer(first, second, padding="max_length", truncation=True, max_length=LENGTH, return_tensors="pt")
    count = len(first)
    ids = batch["input_ids"].clone()
    places = torch.stack([torch.arange(MASKED) * 4 + 1 + i for i in range(count)])  # all within the shortest sentence
    labels = torch.gather(ids, 1, places)
    ids.scatter_(1, places, torch.full_like(places, tokenizer.mask_token_id))
    folder = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
    for name in MODELS:
        model = make_model(name)
        with torch.no_grad():
            answer = model(input_ids=ids, attention_mask=batch["attention_mask"],
                           token_type_ids=batch["token_type_ids"])
        logits = torch.stack([answer.prediction_logits[i, places[i]] for i in range(count)])
        step = MODELS[name]["vocab_size"] // COLUMNS
        losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        document = {
            "input_ids": ids.tolist(), "segment_ids": batch["token_type_ids"].tolist(),
            "input_mask": batch["attention_mask"].tolist(), "masked_lm_positions": places.tolist(),
            "masked_lm_ids": labels.tolist(), "masked_lm_loss": losses.item(), "column_step": step,
            "word_logits": [[[round(x, 9) for x in row] for row in sample] for sample in logits[:, :, ::step].tolist()],
            "sentence_logits": answer.seq_relationship_logits.tolist(),
        }
        path = folder / f"hugging_face_{name}.json"
        path.write_text(json.dumps(document, separators=(",", ":")).replace("],\"", "],\n\"") + "\n")
        print(path, losses.item())


if __name__ == "__main__":
    main()
