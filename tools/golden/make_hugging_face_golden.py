#!/usr/bin/env python3
"""Golden numbers for tests/golden/hugging_face_{tiny,base,classes}.json: what Hugging Face's BERTs answer, in float64.

usage: make_hugging_face_golden.py SENTENCES VOCABULARY | classes

Their weights follow from the formula below and their names, so that tests/golden/hugging_face.cpp can make the same
checkpoints. BertForPreTraining reads the sentences of a file, one in each line, which come from nowhere else;
BertForSequenceClassification reads random single texts and pairs, padded to one length.
"""

import sys

import numpy as np
import torch
from transformers import BertConfig, BertForPreTraining, BertForSequenceClassification, BertTokenizer

from golden_text import compact, write
from make_golden import noise

LENGTH, MASKED, COLUMNS = 48, 5, 40

MODELS = {
    # Widths of a head are 64 in every size.
    "tiny": dict(vocab_size=30522, hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=256,
                 max_position_embeddings=64, hidden_act="gelu", layer_norm_eps=1e-12),  # GELU with erf
    "base": dict(vocab_size=30522, intermediate_size=3072, max_position_embeddings=512, hidden_act="gelu_new",
                 layer_norm_eps=1e-3),  # the other sizes are BertConfig's
    "classes": dict(vocab_size=97, hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=192,
                    max_position_embeddings=40, hidden_act="gelu", layer_norm_eps=1e-12, num_labels=5),
}
# Tokens of the first segment and of the second one, special tokens included, of 24.
PARTS = [(24, 0), (7, 0), (11, 6), (2, 3), (14, 10)]


def value(name, shape):
    """A tensor in float32, as the checkpoint has it."""
    numbers = noise(name, int(np.prod(shape)))
    if name.endswith("LayerNorm.weight"):
        numbers = 1 + 0.25 * numbers
    elif name.endswith("bias"):
        numbers = 0.1 * numbers
    else:
        numbers = 0.06 * numbers
    return torch.tensor(numbers.astype(np.float32).reshape(shape))


def make_model(name, kind):
    config = BertConfig(type_vocab_size=2, hidden_dropout_prob=0, attention_probs_dropout_prob=0, **MODELS[name])
    model = kind(config).eval()
    state = {key: value(key, tensor.shape) for key, tensor in model.state_dict().items()
             if tensor.is_floating_point() and "decoder" not in key}
    missing = model.load_state_dict(state, strict=False)
    assert all("decoder" in key or "position_ids" in key for key in missing.missing_keys), missing
    model.tie_weights()
    return model.double()


def write_classes(length=24):
    random, sizes = np.random.default_rng(27), MODELS["classes"]
    ids = np.zeros((len(PARTS), length), dtype=int)
    segments, mask = np.zeros_like(ids), np.zeros_like(ids)
    for row, (first, second) in enumerate(PARTS):
        used = first + second
        ids[row, :used] = random.integers(1, sizes["vocab_size"], used)
        segments[row, first:used] = 1
        mask[row, :used] = 1
    labels = [i * 3 % sizes["num_labels"] for i in range(len(PARTS))]
    with torch.no_grad():
        answer = make_model("classes", BertForSequenceClassification)(
            input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask), token_type_ids=torch.tensor(segments),
            labels=torch.tensor(labels))
    write("hugging_face_classes.json", compact({
        "input_ids": ids.tolist(), "segment_ids": segments.tolist(), "input_mask": mask.tolist(), "labels": labels,
        "loss": answer.loss.item(), "logits": [[round(x, 9) for x in row] for row in answer.logits.tolist()]}))


def write_pretraining(sentences, vocabulary):
    sentences = [line.strip() for line in open(sentences, encoding="utf-8") if line.strip()]
    tokenizer = BertTokenizer(vocabulary, do_lower_case=True)
    first, second = sentences[0::2], sentences[1::2]
    batch = tokenizer(first, second, padding="max_length", truncation=True, max_length=LENGTH, return_tensors="pt")
    count = len(first)
    ids = batch["input_ids"].clone()
    places = torch.stack([torch.arange(MASKED) * 4 + 1 + i for i in range(count)])  # all within the shortest sentence
    labels = torch.gather(ids, 1, places)
    ids.scatter_(1, places, torch.full_like(places, tokenizer.mask_token_id))
    for name in ("tiny", "base"):
        model = make_model(name, BertForPreTraining)
        with torch.no_grad():
            answer = model(input_ids=ids, attention_mask=batch["attention_mask"],
                           token_type_ids=batch["token_type_ids"])
        logits = torch.stack([answer.prediction_logits[i, places[i]] for i in range(count)])
        step = MODELS[name]["vocab_size"] // COLUMNS
        losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        write(f"hugging_face_{name}.json", compact({
            "input_ids": ids.tolist(), "segment_ids": batch["token_type_ids"].tolist(),
            "input_mask": batch["attention_mask"].tolist(), "masked_lm_positions": places.tolist(),
            "masked_lm_ids": labels.tolist(), "masked_lm_loss": losses.item(), "column_step": step,
            "word_logits": [[[round(x, 9) for x in row] for row in sample] for sample in logits[:, :, ::step].tolist()],
            "sentence_logits": answer.seq_relationship_logits.tolist()}))


if __name__ == "__main__":
    write_classes() if sys.argv[1:] == ["classes"] else write_pretraining(*sys.argv[1:])
