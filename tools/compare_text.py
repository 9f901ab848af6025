#!/usr/bin/env python3
"""Text classification in cnntrain beside PyTorch's run of the same recipe and a model without word order.

usage: compare_text.py CNNTRAIN --train FILE --test FILE --vocab-file FILE [--seeds 1 2 3 4 5]
                       [--sides bag torch cnntrain]

Needs PyTorch, transformers and scikit-learn from PyPI in a virtual environment; nothing else of cnntrain does. FILE is
a text with blanks between its words, as WikiText is: one is for training, the other is held out.

The task: sentences that have both "of" and "in"; the label is "before" if the first "of" comes before the first "in",
else "after". As many sentences of each label are taken from a text as the rarer label has there. Which words a
sentence has says little about the label; where they stand decides it.

  bag       scikit-learn: logistic regression on the counts of words, the best of several regularisations on the
            held-out text itself
  torch     transformers' BertForSequenceClassification, small, from random weights that it saves in WORK/init-SEED
  cnntrain  the same, from those weights: size, dropout, AdamW, limit of the gradients' norm, learning rates, batch
            size and number of steps agree; the order of the sentences and the dropped elements are each side's own

Prints the held-out accuracy of every run in percent, and the mean and standard deviation over the seeds.
"""
import argparse
import pathlib
import random
import re
import statistics
import subprocess
import sys

SIDES = ("bag", "torch", "cnntrain")
FIRST, SECOND = "of", "in"
LENGTH, HIDDEN, LAYERS, WIDE = 64, 64, 2, 128  # heads are 64 wide
DROPOUT, BATCH, RATE, WARMUP, DECAY = 0.1, 32, 1e-3, 0.1, 0.01
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-6


def sentences(path):
    """Lists of lower-case words; titles are left out."""
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if not line or line.startswith("="):
            continue
        for sentence in re.split(r"(?<= [.;!?]) ", line):
            words = sentence.lower().split()
            if 6 <= len(words) <= 60:
                yield words


def labelled(path, seed=1):
    """(sentence, label) pairs of a text, as many of each label, in random order."""
    of_label = {"after": [], "before": []}
    for words in sentences(path):
        if FIRST in words and SECOND in words:
            label = "before" if words.index(FIRST) < words.index(SECOND) else "after"
            of_label[label].append(" ".join(words))
    order = random.Random(seed)
    count = min(len(texts) for texts in of_label.values())
    pairs = [(text, label) for label, texts in of_label.items() for text in order.sample(texts, count)]
    order.shuffle(pairs)
    return pairs


def write_tsv(path, pairs):
    rows = ["text\tlabel", *(f"{text}\t{label}" for text, label in pairs)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def bag_accuracy(train, test):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    counts = CountVectorizer(token_pattern=r"\S+")
    x = counts.fit_transform(text for text, _ in train)
    held_out = counts.transform(text for text, _ in test)
    best = 0
    for strength in (1e-3, 1e-2, 1e-1, 1, 10):
        model = LogisticRegression(C=strength, max_iter=1000).fit(x, [label for _, label in train])
        best = max(best, 100 * model.score(held_out, [label for _, label in test]))
    return best


def make_init(args, seed):
    """The folder of random weights, as transformers saves them."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification
    from transformers.utils import logging
    logging.disable_progress_bar()
    folder = args.work / f"init-{seed}"
    torch.manual_seed(seed)
    config = BertConfig(vocab_size=args.words, hidden_size=HIDDEN, num_hidden_layers=LAYERS,
                        num_attention_heads=HIDDEN // 64, intermediate_size=WIDE, max_position_embeddings=LENGTH,
                        hidden_dropout_prob=DROPOUT, attention_probs_dropout_prob=DROPOUT, num_labels=2)
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


class Tokens:
    """Sentences as tensors; label 0 is "after", as the sorted names are in cnntrain."""

    def __init__(self, pairs, vocabulary):
        import torch
        from transformers import BertTokenizer
        batch = BertTokenizer(vocabulary, do_lower_case=True)([text for text, _ in pairs], padding="max_length",
                                                              truncation=True, max_length=LENGTH, return_tensors="pt")
        self.inputs = {key: batch[key] for key in ("input_ids", "attention_mask", "token_type_ids")}
        self.labels = torch.tensor([int(label == "before") for _, label in pairs])

    def __len__(self):
        return len(self.labels)

    def batch(self, rows):
        """Without the columns that are padding in all rows, which change nothing."""
        longest = int(self.inputs["attention_mask"][rows].sum(1).max())
        return {key: value[rows, :longest] for key, value in self.inputs.items()}, self.labels[rows]


def make_optimiser(model):
    """AdamW by cnntrain's formula (adamw with corrects_step, include/cnntrain/graph/update_rule.h): the correction of
    the means' bias multiplies the whole step, and is one update ahead."""
    import torch

    class StepCorrectedAdamW(torch.optim.Optimizer):
        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in (p for p in group["params"] if p.grad is not None):
                    state = self.state[p]
                    if not state:
                        state.update(m=torch.zeros_like(p), s=torch.zeros_like(p), next=1)
                    state["next"] += 1
                    state["m"].mul_(BETA1).add_(p.grad, alpha=1 - BETA1)
                    state["s"].mul_(BETA2).addcmul_(p.grad, p.grad, value=1 - BETA2)
                    update = state["m"] / (state["s"].sqrt() + EPSILON) + group["weight_decay"] * p
                    correction = (1 - BETA2 ** state["next"]) ** 0.5 / (1 - BETA1 ** state["next"])
                    p.add_(update, alpha=-group["lr"] * correction)

    plain = [p for name, p in model.named_parameters() if "bias" in name or "LayerNorm" in name]
    decayed = [p for name, p in model.named_parameters() if not ("bias" in name or "LayerNorm" in name)]
    return StepCorrectedAdamW([{"params": decayed, "weight_decay": DECAY}, {"params": plain, "weight_decay": 0.0}],
                              {"lr": RATE})


def torch_accuracy(args, train, test, seed):
    import torch
    from transformers import BertForSequenceClassification
    torch.set_num_threads(args.threads)
    model = BertForSequenceClassification.from_pretrained(make_init(args, seed)).train()
    torch.manual_seed(1000 + seed)
    optimiser = make_optimiser(model)
    steps = args.steps(len(train))
    stream = torch.cat([torch.randperm(len(train)) for _ in range(args.epochs + 1)])  # batches straddle epochs
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(step / (WARMUP * steps), (steps - step) / (steps - WARMUP * steps))
        inputs, labels = train.batch(stream[step * BATCH:(step + 1) * BATCH])
        optimiser.zero_grad()
        model(**inputs, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for begin in range(0, len(test), BATCH):
            inputs, labels = test.batch(slice(begin, begin + BATCH))
            correct += (model(**inputs).logits.argmax(1) == labels).sum().item()
    return 100 * correct / len(test)


def own_line(args, steps, seed):
    """The command line of cnntrain; --more adds words to it."""
    return [args.program, "train", "--task", "text-classification", "--data-dir", args.work / "train.tsv",
            "--validation-file", args.work / "valid.tsv", "--vocab-file", args.vocab_file,
            "--init-checkpoint", args.work / f"init-{seed}" / "model.safetensors",
            "--vocab-size", args.words, "--hidden-size", HIDDEN, "--num-hidden-layers", LAYERS,
            "--num-attention-heads", HIDDEN // 64, "--intermediate-size", WIDE, "--max-position-embeddings", LENGTH,
            "--seq-length", LENGTH, "--hidden-act", "gelu_erf", "--layer-norm-epsilon", 1e-12, "--use-qkv-split",
            "--use-qkv-bias", "--hidden-dropout-prob", DROPOUT, "--attention-probs-dropout-prob", DROPOUT,
            "--glue-dropout-prob", DROPOUT, "--micro-batch-size", BATCH, "--gradient-accumulation-count", 1,
            "--num-train-steps", steps, "--optimizer", "adamw", "--base-learning-rate", RATE, "--warmup", WARMUP,
            "--lr-schedule", "polynomial_decay", "--weight-decay-rate", DECAY, "--epsilon", EPSILON, "--use-debiasing",
            "--precision", "32", "--seed", seed, "--log-dir", args.work / f"run-{seed}", *args.more]


def own_accuracy(args, count, seed):
    """Of the last validation that the program prints."""
    make_init(args, seed)
    words = [str(word) for word in own_line(args, args.steps(count), seed)]
    done = subprocess.run(words, capture_output=True, text=True)
    found = re.findall(r"Validation.*?accuracy:?\s+([\d.]+)", done.stdout + done.stderr)
    if done.returncode != 0 or not found:
        raise SystemExit(f"{' '.join(words)}\nended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
    return float(found[-1])


def report(name, values):
    spread = f"{statistics.mean(values):.2f} +- {statistics.stdev(values):.2f}" if len(values) > 1 else "-"
    print(f"| {name} | {' '.join(f'{value:.2f}' for value in values)} | {spread} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="cnntrain")
    parser.add_argument("--train", required=True, help="text for training")
    parser.add_argument("--test", required=True, help="held-out text")
    parser.add_argument("--vocab-file", required=True, help="vocabulary of the WordPiece tokeniser")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("compare_text"), help="folder for all files")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES)
    parser.add_argument("--more", nargs=argparse.REMAINDER, default=[], help="words for cnntrain's command line; last")
    args = parser.parse_args()
    args.steps = lambda count: args.epochs * count // BATCH
    args.words = sum(1 for _ in open(args.vocab_file, encoding="utf-8"))
    args.work.mkdir(parents=True, exist_ok=True)
    train, test = labelled(args.train), labelled(args.test)
    write_tsv(args.work / "train.tsv", train)
    write_tsv(args.work / "valid.tsv", test)
    print(f"{len(train)} sentences for training, {len(test)} held out; {args.epochs} epochs of {BATCH} a step\n")
    print("| side | held-out accuracy by seed, % | mean +- deviation |\n|---|---|---|")
    if "bag" in args.sides:
        report("bag of words", [bag_accuracy(train, test)])
    if "torch" in args.sides:
        tokens, held_out = Tokens(train, args.vocab_file), Tokens(test, args.vocab_file)
        report("PyTorch", [torch_accuracy(args, tokens, held_out, seed) for seed in args.seeds])
    if "cnntrain" in args.sides:
        report("cnntrain", [own_accuracy(args, len(train), seed) for seed in args.seeds])
    return 0


if __name__ == "__main__":
    sys.exit(main())
