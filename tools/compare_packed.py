#!/usr/bin/env python3
"""BERT's pretraining on rows of several sequences (--packed) beside the same sequences with padding.

usage: compare_packed.py CNNTRAIN --text FILE ... --vocab FILE [--held-out FILE ...] [--size small] [--length 512]
                         [--batch 8] [--precision 16] [--steps 8] [--rounds 5] [--before COMMAND]
                         [--learn STEPS --seeds 3]

The texts have one sentence a line and blank lines between documents. `cnntrain dataset bert` cuts them to sequences of
many lengths (--short-seq-prob 0.55), so that about half of the tokens are padding.

Prints sequences/s of whole training steps with as many rows in a batch, in turns, each time in a process of its own:
medians over the rounds with the lowest and highest, and the median of the ratios of a round. --before is put in front
of each of these lines. Prints also the losses of one checkpoint on all sequences, padded and packed.
--learn: trains a model with padding and one without from each of some seeds, as many sequences an update, and prints
their losses on the held-out text.
"""
import argparse
import pathlib
import re
import statistics
import tempfile

from compare_bert import DROPOUT, FIRST_STEPS, SIZES, run

PREDICTIONS = {128: 20, 256: 39, 384: 58, 512: 77}


def options_of(args):
    hidden, layers, heads, wide = SIZES[args.size]
    return ["--vocab-size", args.words, "--hidden-size", hidden, "--num-hidden-layers", layers,
            "--num-attention-heads", heads, "--intermediate-size", wide, "--seq-length", args.length,
            "--max-predictions-per-seq", PREDICTIONS[args.length], "--max-position-embeddings", 512,
            "--hidden-dropout-prob", DROPOUT, "--attention-probs-dropout-prob", DROPOUT, "--use-qkv-split",
            "--gradient-accumulation-count", 1, "--optimizer", "adamw", "--weight-decay-rate", 0.01,
            "--epsilon", 1e-6, "--use-debiasing", "--base-learning-rate", args.rate, "--warmup", 0.1,
            "--precision", args.precision, "--steps-per-ckpts", 0]


def records(args, texts, path, work):
    text, _ = run([args.program, "dataset", "bert", "--input-file", ",".join(texts), "--output-file", path,
                   "--vocab-file", args.vocab, "--do-lower-case", "--sequence-length", args.length,
                   "--mask-tokens", PREDICTIONS[args.length], "--short-seq-prob", 0.55,
                   "--duplication-factor", 3], work)
    print(text.strip().splitlines()[-1])
    return path


class Side:
    """Sequences/s of each round."""

    def __init__(self, args, words, work):
        self.words = args.before.split() + [args.program, "pretrain", *options_of(args), *words,
                                            "--num-train-steps", args.steps + FIRST_STEPS, "--micro-batch-size",
                                            args.batch, "--save-path", work / "speed"]
        self.batch, self.rates, self.work = args.batch, [], work

    def take_turn(self):
        text, _ = run(self.words, self.work)
        packing = re.search(r"(\d+) sequences in (\d+) rows", text)
        each = int(packing[1]) / int(packing[2]) if packing else 1
        seconds = [float(value) for value in re.findall(r", time: ([\d.]+)", text)][FIRST_STEPS:]
        self.rates.append(self.batch * each / statistics.median(seconds))

    def __str__(self):
        return f"{statistics.median(self.rates):.2f} ({min(self.rates):.2f} to {max(self.rates):.2f})"


def compare_speed(args, train, work):
    padded = Side(args, ["--train-file", train], work)
    packed = Side(args, ["--train-file", train, "--packed"], work)
    for _ in range(args.rounds):
        padded.take_turn()
        packed.take_turn()
    ratios = [b / a for a, b in zip(padded.rates, packed.rates)]
    print(f"| {args.size} | {args.length} | {args.batch} | {args.precision} | {padded} | {packed} | "
          f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |")


def losses_of(args, run_folder, held_out, layout, work):
    """Losses of the run's last checkpoint, of masked words and of the next sentence."""
    results = work / f"results-{run_folder.name}{layout}"
    run([args.program, "pretrain", "--evaluate", "--restore-dir", run_folder, "--valid-file", held_out, layout,
         "--precision", 32, "--logs-path", results], work)
    names, *rows = (results / "validation.csv").read_text().splitlines()
    last = dict(zip(names.split(","), rows[-1].split(",")))
    return float(last["mlm_loss"]), float(last["nsp_loss"])


def learn(args, train, held_out, work):
    text, _ = run([args.program, "pretrain", *options_of(args), "--train-file", train, "--packed",
                   "--num-train-steps", 1, "--micro-batch-size", 1, "--save-path", work / "look"], work)
    packing = re.search(r"(\d+) sequences in (\d+) rows", text)
    sequences = round(args.batch * int(packing[1]) / int(packing[2]))
    print("| seed | layout | rows an update | loss of masked words | loss of the next sentence |")
    print("|---|---|---|---|---|")
    for seed in range(1, args.seeds + 1):
        for name, layout, rows in (("padded", [], sequences), ("packed", ["--packed"], args.batch)):
            folder = work / f"{name}{seed}"
            run([args.program, "pretrain", *options_of(args), "--train-file", train, *layout, "--seed", seed,
                 "--num-train-steps", args.learn, "--micro-batch-size", rows, "--logs-path", folder], work)
            masked, sentence = losses_of(args, folder, held_out, "--no-packed", work)
            print(f"| {seed} | {name} | {rows} | {masked:.4f} | {sentence:.4f} |", flush=True)
    for layout in ("--no-packed", "--packed"):
        masked, sentence = losses_of(args, work / "packed1", held_out, layout, work)
        print(f"packed, seed 1, evaluated with {layout}: {masked:.6f}, {sentence:.6f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--text", nargs="+", required=True)
    parser.add_argument("--held-out", nargs="+", default=[])
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--size", default="small", choices=SIZES)
    parser.add_argument("--length", type=int, default=512, choices=PREDICTIONS)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--precision", default="16")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--before", default="")
    parser.add_argument("--learn", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    args.words = len(pathlib.Path(args.vocab).read_text(encoding="utf-8").splitlines())
    absolute = [str(pathlib.Path(text).resolve()) for text in args.text]
    args.vocab = str(pathlib.Path(args.vocab).resolve())
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        train = records(args, absolute, work / "train.tfrecord", work)
        if args.rounds > 0:
            compare_speed(args, train, work)
        if args.learn > 0:
            held = [str(pathlib.Path(text).resolve()) for text in args.held_out]
            learn(args, train, records(args, held, work / "held.tfrecord", work), work)


if __name__ == "__main__":
    main()
