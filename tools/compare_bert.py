#!/usr/bin/env python3
"""BERT's pretraining in cnntrain beside PyTorch's on the same machine: how fast a step is, and what a small model learns.

usage: compare_bert.py speed CNNTRAIN [--sizes base] [--lengths 128 384] [--batches 8 32] [--precisions 32 16] [--rounds 3]
       compare_bert.py learning CNNTRAIN --train FILE ... --test FILE ... --vocab-size N [--steps 1200] [--batch 32]

Needs PyTorch and transformers from PyPI in a virtual environment; nothing else of cnntrain does. The peer is transformers'
BertForPreTraining with scaled-dot-product attention, which is also given what cnntrain does for its users: the masked tokens stand in
front (static masks), and only they are scored.

speed: whole steps (forward, backward, AdamW) on made-up sequences with dropout 0.1, in turns; for 16 bits the peer has autocast to
       bfloat16 over float32 weights. --compile tries torch.compile, too. Prints sequences/s: medians over the rounds with
       the lowest and highest, and the ratio to the fastest of the peer's ways.
learning: both train the same small model (4 layers, 256 wide) from nothing, in 32 bits, on the same records of `cnntrain dataset
       bert --remask`, each in an order of its own, and are tested on the same held-out ones. Prints the loss of masked tokens on
       these, and beside it the entropy of the training text's unigrams there: what a model without any context reaches.
"""
import argparse
import math
import pathlib
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import torch
from torch.nn import functional as F
from transformers import BertConfig, BertForPreTraining

SIZES = {"base": (768, 12, 12, 3072), "large": (1024, 24, 16, 4096), "small": (256, 4, 4, 1024)}
PREDICTIONS = {128: 20, 384: 58}
DROPOUT = 0.1
LEARNING_RATE, WARMUP, DECAY = 5e-4, 100, 0.01


class Peer(torch.nn.Module):
    """The loss of a micro-batch: masked tokens in front, weighted, and the next sentence."""

    def __init__(self, size, words, predictions):
        super().__init__()
        hidden, layers, heads, wide = SIZES[size]
        config = BertConfig(vocab_size=words, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                            intermediate_size=wide, max_position_embeddings=512, hidden_act="gelu_new",
                            hidden_dropout_prob=DROPOUT, attention_probs_dropout_prob=DROPOUT, layer_norm_eps=1e-3)
        config._attn_implementation = "sdpa"
        self.model = BertForPreTraining(config)
        self.predictions = predictions

    def forward(self, batch):
        m = self.predictions
        x = self.model.bert(input_ids=batch["input_ids"], attention_mask=batch["keep"], token_type_ids=batch["segment_ids"],
                            position_ids=batch["input_position"]).last_hidden_state
        words = self.model.cls.predictions(x[:, :m]).float()
        pooled = self.model.bert.pooler(x[:, m:m + 1])
        sentence = self.model.cls.seq_relationship(pooled).float()
        losses = F.cross_entropy(words.flatten(0, 1), batch["masked_labels"].flatten(), reduction="none")
        weights = batch["masked_lm_weights"].flatten()
        return (losses * weights).sum(), weights.sum(), F.cross_entropy(sentence, batch["next_sentence_labels"].flatten())


def made_up(size, length, batch, words):
    m = PREDICTIONS[length]
    return {"input_ids": torch.randint(0, words, (batch, length)), "segment_ids": torch.randint(0, 2, (batch, length)),
            "input_position": torch.arange(length).expand(batch, length).contiguous(),
            "keep": torch.ones(batch, length, dtype=torch.long), "masked_labels": torch.randint(0, words, (batch, m)),
            "masked_lm_weights": torch.ones(batch, m), "next_sentence_labels": torch.randint(0, 2, (batch,))}


def make_optimiser(peer):
    plain = [p for name, p in peer.named_parameters() if "bias" in name or "LayerNorm" in name]
    decayed = [p for name, p in peer.named_parameters() if not ("bias" in name or "LayerNorm" in name)]
    return torch.optim.AdamW([{"params": decayed, "weight_decay": DECAY}, {"params": plain, "weight_decay": 0.0}],
                             lr=LEARNING_RATE, eps=1e-6, foreach=True)


def peer_seconds(forward, optimiser, batch, precision, steps):
    """Of each step after the first two."""
    seconds = []
    for step in range(steps + 2):
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision != "32"):
            loss, weight, sentence = forward(batch)
        optimiser.zero_grad(set_to_none=True)
        (loss / weight + sentence).backward()
        optimiser.step()
        if step >= 2:
            seconds.append(time.perf_counter() - start)
    return seconds


def model_options(size, words, length):
    hidden, layers, heads, wide = SIZES[size]
    return ["--vocab-size", words, "--hidden-size", hidden, "--num-hidden-layers", layers, "--num-attention-heads", heads,
            "--intermediate-size", wide, "--seq-length", length, "--max-predictions-per-seq", PREDICTIONS[length],
            "--max-position-embeddings", 512, "--static-mask", "--use-qkv-split", "--use-qkv-bias",
            "--hidden-dropout-prob", DROPOUT, "--attention-probs-dropout-prob", DROPOUT, "--gradient-accumulation-count", 1,
            "--optimizer", "adamw", "--weight-decay-rate", DECAY, "--epsilon", 1e-6, "--use-debiasing"]


def run(words, work):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=work)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}\nended with {result.returncode}:\n{(result.stdout + result.stderr)[-3000:]}")
    return result.stdout + result.stderr


def own_seconds(program, options, batch, steps, work):
    text = run([program, "pretrain", *options, "--generated-data", "--micro-batch-size", batch, "--num-train-steps", steps + 2,
                "--steps-per-ckpts", 1000000, "--save-path", work / "speed"], work)
    return [float(value) for value in re.findall(r" time: ([\d.]+)", text)][2:]


def rates(batch, seconds):
    return batch / statistics.median(seconds)


def summary(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def compare_speed(args, work):
    words = 30400
    print("| size | length | batch | precision | cnntrain | PyTorch eager | PyTorch compiled | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for size in args.sizes:
        for length in args.lengths:
            for batch in args.batches:
                for precision in args.precisions:
                    peer = Peer(size, words, PREDICTIONS[length]).train()
                    optimiser = make_optimiser(peer)
                    ways = {"eager": peer}
                    if args.compile:
                        ways["compiled"] = torch.compile(peer)
                    data = made_up(size, length, batch, words)
                    options = [*model_options(size, words, length), "--precision", precision]
                    own, theirs = [], {way: [] for way in ways}
                    for _ in range(args.rounds):
                        own.append(rates(batch, own_seconds(args.program, options, batch, args.steps, work)))
                        for way, forward in ways.items():
                            theirs[way].append(rates(batch, peer_seconds(forward, optimiser, data, precision, args.steps)))
                    best = max(statistics.median(values) for values in theirs.values())
                    compiled = summary(theirs["compiled"]) if args.compile else "-"
                    print(f"| {size} | {length} | {batch} | {precision} | {summary(own)} | {summary(theirs['eager'])} "
                          f"| {compiled} | {statistics.median(own) / best:.2f} |", flush=True)


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields_of(data):
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 2:
            length, at = read_varint(data, at)
            yield key >> 3, data[at:at + length]
            at += length
        elif key & 7 == 0:
            value, at = read_varint(data, at)
            yield key >> 3, value
        else:
            yield key >> 3, data[at:at + 4]
            at += 4


def example(record):
    """A tf.Example of packed numbers."""
    result = {}
    for _, features in fields_of(record):
        for _, entry in fields_of(features):
            parts = dict(fields_of(entry))
            (kind, numbers), = fields_of(parts[2])
            packed = dict(fields_of(numbers))[1]
            if kind == 2:
                values = list(struct.unpack(f"<{len(packed) // 4}f", packed))
            else:
                values, at = [], 0
                while at < len(packed):
                    value, at = read_varint(packed, at)
                    values.append(value)
            result[parts[1].decode()] = values
    return result


def read_records(paths):
    records = []
    for path in paths:
        data = pathlib.Path(path).read_bytes()
        at = 0
        while at < len(data):
            length, = struct.unpack_from("<Q", data, at)
            records.append(example(data[at + 12:at + 12 + length]))
            at += 16 + length
    return records


def batch_of(records, predictions):
    batch = {name: torch.tensor([record[name] for record in records])
             for name in ("input_ids", "segment_ids", "input_position", "masked_labels", "masked_lm_weights",
                          "next_sentence_labels", "mask_padding_index", "seq_padding_index")}
    batch["input_position"].clamp_(max=511)
    places = torch.arange(batch["input_ids"].shape[1])[None]
    seen = (places < batch["mask_padding_index"]) | (places >= predictions)
    batch["keep"] = (seen & (places < batch["seq_padding_index"])).long()
    return batch


def unigram_entropy(train, test, words):
    """Cross entropy, per masked token of the test records, of the training records' own masked tokens' frequencies, smoothed by 1."""
    counts = [1] * words
    for record in train:
        for word, weight in zip(record["masked_labels"], record["masked_lm_weights"]):
            counts[word] += int(weight)
    total = sum(counts)
    losses = [math.log(total / counts[word]) for record in test
              for word, weight in zip(record["masked_labels"], record["masked_lm_weights"]) if weight > 0]
    return statistics.fmean(losses)


def rate_at(step, steps):
    return LEARNING_RATE * min(step / WARMUP, (steps - step) / (steps - WARMUP))


def train_peer(train, args, predictions):
    torch.manual_seed(1)
    peer = Peer("small", args.vocab_size, predictions).train()
    optimiser = make_optimiser(peer)
    order = random.Random(1)
    for step in range(args.steps):
        for group in optimiser.param_groups:
            group["lr"] = max(rate_at(step, args.steps), 1e-7)
        loss, weight, sentence = peer(batch_of(order.sample(train, args.batch), predictions))
        total = loss / (weight + 1e-5) + sentence
        optimiser.zero_grad(set_to_none=True)
        total.backward()
        torch.nn.utils.clip_grad_norm_(peer.parameters(), 1.0)
        optimiser.step()
        if step % 100 == 0:
            print(f"PyTorch, step {step}: {(loss / weight).item():.3f}", file=sys.stderr, flush=True)
    peer.eval()
    losses = weights = 0.0
    with torch.no_grad():
        for begin in range(0, len(args.tested), args.batch):
            loss, weight, _ = peer(batch_of(args.tested[begin:begin + args.batch], predictions))
            losses += loss.item()
            weights += weight.item()
    return losses / weights


def train_own(args, work):
    options = [*model_options("small", args.vocab_size, 128), "--precision", "32", "--micro-batch-size", args.batch]
    text = run([args.program, "pretrain", *options, "--train-file", ",".join(args.train), "--num-train-steps", args.steps,
                "--base-learning-rate", LEARNING_RATE, "--warmup", WARMUP, "--lr-schedule", "polynomial_decay", "--seed", 1,
                "--steps-per-ckpts", 1000000, "--save-path", work / "learning"], work)
    folder = next((work / "learning").iterdir())
    text = run([args.program, "pretrain", *options, "--num-train-steps", args.steps, "--evaluate", "--restore-dir", folder,
                "--valid-file", ",".join(args.test)], work)
    return float(re.findall(r"mlm_loss: *([\d.]+)", text)[-1])  # of the last checkpoint


def compare_learning(args, work):
    train, args.tested = read_records(args.train), read_records(args.test)
    predictions = len(train[0]["masked_labels"])
    entropy = unigram_entropy(train, args.tested, args.vocab_size)
    own = train_own(args, work)
    print(f"cnntrain: {own:.3f}", file=sys.stderr, flush=True)
    theirs = train_peer(train, args, predictions)
    print(f"{len(train)} training records, {len(args.tested)} held-out ones, {args.steps} steps of {args.batch} sequences\n")
    print("| | loss of masked tokens, held out |\n|---|---|")
    print(f"| unigrams of the training text | {entropy:.3f} |\n| cnntrain | {own:.3f} |\n| PyTorch | {theirs:.3f} |")
    print(f"\ncnntrain / PyTorch: {own / theirs:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "learning"])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--sizes", nargs="+", default=["base"], choices=SIZES)
    parser.add_argument("--lengths", nargs="+", type=int, default=[128], choices=PREDICTIONS)
    parser.add_argument("--batches", nargs="+", type=int, default=[8])
    parser.add_argument("--precisions", nargs="+", default=["32", "16"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--compile", action="store_true", help="torch.compile, too")
    parser.add_argument("--train", nargs="+", help="TFRecord files")
    parser.add_argument("--test", nargs="+")
    parser.add_argument("--vocab-size", type=int, default=30522)
    parser.add_argument("--batch", type=int, default=32)
    args = parser.parse_args()
    args.program = args.program.resolve()
    args.steps = args.steps or (3 if args.what == "speed" else 1200)
    with tempfile.TemporaryDirectory(prefix="compare_bert_") as folder:
        (compare_speed if args.what == "speed" else compare_learning)(args, pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
