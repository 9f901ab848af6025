"""Pretraining of GroupBERT beside BERT, both here: the loss of masked words in held-out text, and the rate.

TRAIN and VALID are texts as WikiText's are; VOCAB is the vocabulary of an uncased BERT. Both networks have the same
width, layers, batches, rates and steps: a layer of GroupBERT has a convolution and a second feed-forward part besides.
"""
import pathlib
import re
import statistics

from common import head, row, run as run_program

NEEDS = []
SEQUENCE = ["--sequence-length", 128, "--mask-tokens", 20]
NETWORK = ["--hidden-size", 128, "--num-attention-heads", 4, "--num-hidden-layers", 4, "--intermediate-size", 512,
           "--max-position-embeddings", 128, "--seq-length", 128, "--max-predictions-per-seq", 20]
TRAINING = ["--micro-batch-size", 16, "--gradient-accumulation-count", 1, "--optimizer", "adamw",
            "--base-learning-rate", 1e-3, "--precision", 32]


def add_options(parser):
    parser.add_argument("train", type=pathlib.Path, metavar="TRAIN", help="UTF-8")
    parser.add_argument("valid", type=pathlib.Path, metavar="VALID", help="UTF-8")
    parser.add_argument("vocab", type=pathlib.Path, metavar="VOCAB")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=1000)


def write_records(args, path, name, copies):
    """A sentence a line, an empty line after each paragraph; then records of them."""
    paragraphs = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()
                  if line.strip() and not line.startswith(" =")]
    text = args.work / f"{name}.txt"
    text.write_text("\n\n".join(paragraph.replace(" . ", " .\n") for paragraph in paragraphs), encoding="utf-8")
    run_program([args.cnntrain, "dataset", "bert", "--input-file", text, "--vocab-file", args.vocab, "--output-file",
                 args.work / name, *SEQUENCE, "--do-lower-case", "--duplication-factor", copies, "--overwrite"])
    return args.work / name


def pretrain(args, files, seed, network):
    """Loss of masked words in VALID, and the median of the logged rates after the first."""
    text = run_program([
        args.cnntrain, "pretrain", "--train-file", files[0], "--valid-file", files[1], "--vocab-size", 30522, *NETWORK,
        *TRAINING, *network, "--num-train-steps", args.steps, "--validate-every-updates", args.steps,
        "--steps-per-logs", 50, "--seed", seed, "--threads", args.threads, "--logs-path", args.work / "run",
        "--overwrite"])
    rates = [float(found) for found in re.findall(r"throughput: +([\d.]+)", text)]
    return float(re.findall(r"Validation .*?mlm_loss: +([\d.]+)", text)[-1]), statistics.median(rates[1:])


def run(args):
    files = [write_records(args, path, f"{name}.tfrecord", copies)
             for name, path, copies in (("train", args.train, 10), ("valid", args.valid, 1))]
    sides = {"BERT": [], "GroupBERT": ["--groupbert"]}
    values = {name: [] for name in sides}
    head("network", "seed", "loss of masked words", "sequences/s")
    for seed in args.seeds:
        for name, network in sides.items():
            values[name].append(pretrain(args, files, seed, network))
            row(name, seed, *(f"{value:.3f}" for value in values[name][-1]))
    for name, found in values.items():
        row(name, "mean", *(f"{statistics.mean(column):.3f}" for column in zip(*found)))
    return 0
