#!/usr/bin/env python3
"""BERT's pretraining in cnntrain beside PyTorch's on the same machine: how fast a step is, and what a small model
learns.

usage: compare_bert.py speed CNNTRAIN [--sizes base] [--lengths 128 384] [--batches 8 32] [--precisions 32 16]
                             [--rounds 3]
       compare_bert.py learning CNNTRAIN --train FILE ... --test FILE ... --vocab-size N [--steps 1200] [--batch 32]

Needs PyTorch and transformers from PyPI in a virtual environment; nothing else of cnntrain does. The peer is
transformers' BertForPreTraining with scaled-dot-product attention, which is also given what cnntrain does for its
users: the masked tokens stand in front (static masks), and only they are scored.

speed: whole steps (forward, backward, AdamW) on made-up sequences with dropout 0.1, in turns, each time in a process of
       its own; for 16 bits both keep float32 weights, and the peer has autocast to bfloat16. --compile tries
       torch.compile, too. Prints sequences/s: medians over the rounds with the lowest and highest, and the ratio to the
       fastest of the peer's ways; and the most memory that a whole process of either has held (of the peer, in that
       way), with the ratio.
learning: both train the same small model (4 layers, 256 wide) from nothing, in 32 bits, on the same records of
       `cnntrain dataset bert --remask`, each in an order of its own, and are tested on the same held-out ones. Prints
       the loss of masked tokens on these, and beside it the entropy of the training text's unigrams there: what a model
       without any context reaches.
"""
import argparse
import itertools
import json
import math
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile

WORDS = 30400  # of speed
SIZES = {"base": (768, 12, 12, 3072), "large": (1024, 24, 16, 4096), "small": (256, 4, 4, 1024)}
PREDICTIONS = {128: 20, 384: 58}
DROPOUT = 0.1
LEARNING_RATE, WARMUP, DECAY = 5e-4, 100, 0.01
FIRST_STEPS = 2  # that are not counted


def rate_at(step, steps):
    return LEARNING_RATE * min(step / WARMUP, (steps - step) / (steps - WARMUP))


def model_of(size, words, length):
    """What both sides train, and how."""
    hidden, layers, heads, wide = SIZES[size]
    return {"words": words, "hidden": hidden, "layers": layers, "heads": heads, "wide": wide, "length": length,
            "predictions": PREDICTIONS[length], "dropout": DROPOUT, "rate": LEARNING_RATE, "decay": DECAY}


def model_options(model):
    return ["--vocab-size", model["words"], "--hidden-size", model["hidden"], "--num-hidden-layers", model["layers"],
            "--num-attention-heads", model["heads"], "--intermediate-size", model["wide"],
            "--seq-length", model["length"],
            "--max-predictions-per-seq", model["predictions"],
            "--max-position-embeddings", 512, "--static-mask", "--use-qkv-split", "--use-qkv-bias",
            "--hidden-dropout-prob", DROPOUT, "--attention-probs-dropout-prob", DROPOUT,
            "--gradient-accumulation-count", 1,
            "--optimizer", "adamw", "--weight-decay-rate", DECAY, "--epsilon", 1e-6, "--use-debiasing"]


def run(words, work):
    """What a program prints, and the most memory in MB that its process has held."""
    words = [str(word) for word in words]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT, cwd=work)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(words)}\nended with {process.returncode}:\n{text[-3000:]}")
    return text, usage.ru_maxrss * 1024 / 1e6


class Side:
    """One of those that are compared: sequences/s and memory of each round."""

    def __init__(self, words, batch):
        self.words, self.batch = words, batch
        self.rates, self.megabytes = [], []

    def take_turn(self, work):
        text, megabytes = run(self.words, work)
        seconds = [float(value) for value in re.findall(r", time: ([\d.]+)", text)][FIRST_STEPS:]
        self.rates.append(self.batch / statistics.median(seconds))
        self.megabytes.append(megabytes)

    def rate(self):
        return statistics.median(self.rates)

    def peak(self):
        return max(self.megabytes)

    def __str__(self):
        return f"{self.rate():.2f} ({min(self.rates):.2f} to {max(self.rates):.2f})"


def own_side(args, size, length, batch, precision, work):
    return Side([args.program, "pretrain", *model_options(model_of(size, WORDS, length)), "--precision", precision,
                 "--generated-data",
                 "--micro-batch-size", batch, "--num-train-steps", args.steps + FIRST_STEPS,
                 "--steps-per-ckpts", 1000000,
                 "--save-path", work / "speed"], batch)


def peer_side(args, size, length, batch, precision, compiled):
    peer = pathlib.Path(__file__).resolve().with_name("bert_peer.py")
    words = {"model": model_of(size, WORDS, length), "batch": batch, "precision": precision,
             "steps": args.steps + FIRST_STEPS, "compiled": compiled}
    return Side([sys.executable, peer, json.dumps(words)], batch)


def compare_speed(args, work):
    ways = {"eager": False, "compiled": True} if args.compile else {"eager": False}
    print("| size | length | batch | precision | cnntrain | PyTorch eager | PyTorch compiled | ratio | cnntrain, MB | "
          "PyTorch, MB | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for case in itertools.product(args.sizes, args.lengths, args.batches, args.precisions):
        own = own_side(args, *case, work)
        peers = {way: peer_side(args, *case, compiled) for way, compiled in ways.items()}
        for _ in range(args.rounds):
            for side in (own, *peers.values()):
                side.take_turn(work)
        best = max(peers.values(), key=Side.rate)
        print("|", " | ".join(str(part) for part in case), f"| {own} | {peers['eager']} | {peers.get('compiled', '-')} "
              f"| {own.rate() / best.rate():.2f} | {own.peak():.0f} | {best.peak():.0f} | "
              f"{own.peak() / best.peak():.2f} |", flush=True)


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


def unigram_entropy(train, test, words):
    """Cross entropy, per masked token of the test records, of the training records' own masked tokens' frequencies,
    smoothed by 1."""
    counts = [1] * words
    for record in train:
        for word, weight in zip(record["masked_labels"], record["masked_lm_weights"]):
            counts[word] += int(weight)
    total = sum(counts)
    losses = [math.log(total / counts[word]) for record in test
              for word, weight in zip(record["masked_labels"], record["masked_lm_weights"]) if weight > 0]
    return statistics.fmean(losses)


def own_loss_after_training(args, work):
    options = [*model_options(model_of("small", args.vocab_size, 128)), "--precision", "32",
               "--micro-batch-size", args.batch]
    run([args.program, "pretrain", *options, "--train-file", ",".join(args.train), "--num-train-steps", args.steps,
         "--base-learning-rate", LEARNING_RATE, "--warmup", WARMUP, "--lr-schedule", "polynomial_decay", "--seed", 1,
         "--steps-per-ckpts", 1000000, "--save-path", work / "learning"], work)
    folder = next((work / "learning").iterdir())
    text, _ = run([args.program, "pretrain", *options, "--evaluate", "--restore-dir", folder,
                   "--valid-file", ",".join(args.test)],
                  work)
    return float(re.findall(r"mlm_loss: *([\d.]+)", text)[-1])  # of the last checkpoint


def compare_learning(args, work):
    import bert_peer  # PyTorch, which a process that measures others must not hold

    train, test = read_records(args.train), read_records(args.test)
    entropy = unigram_entropy(train, test, args.vocab_size)
    own = own_loss_after_training(args, work)
    print(f"cnntrain: {own:.3f}", file=sys.stderr, flush=True)
    rates = [rate_at(step, args.steps) for step in range(args.steps)]
    model = model_of("small", args.vocab_size, 128)
    theirs = bert_peer.loss_after_training(train, test, model, rates, args.batch)
    print(f"{len(train)} training records, {len(test)} held-out ones, {args.steps} steps of {args.batch} sequences\n")
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
