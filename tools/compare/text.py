"""Accuracy of text classification beside PyTorch.

FILE is a text with blanks between its words, as WikiText is. The task: sentences that have both "of" and "in"; the
label says which comes first. Which words a sentence has says little about it; where they stand decides. As many
sentences of each label are taken as the rarer one has. PyTorch trains transformers' BertForSequenceClassification from
the same random weights, with the same update rule, rates, batches and number of steps. Printed: held-out accuracy, %.
"""
import pathlib
import random
import re
import statistics

from common import Package, decayed_apart, head, row, run as run_program

NEEDS = ["torch", "transformers"]
torch, transformers = map(Package, NEEDS)
FIRST, SECOND = "of", "in"
LENGTH, HIDDEN, LAYERS, WIDE = 64, 64, 2, 128  # heads are 64 wide
DROPOUT, BATCH, RATE, WARMUP, DECAY = 0.1, 32, 1e-3, 0.1, 0.01
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-6


def add_options(parser):
    parser.add_argument("--train", required=True, metavar="FILE", help="text for training")
    parser.add_argument("--test", required=True, metavar="FILE", help="held-out text")
    parser.add_argument("--vocab-file", required=True, type=pathlib.Path, help="vocabulary of the WordPiece tokeniser")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--epochs", type=int, default=8)


def labelled(path):
    """(sentence, label) pairs of a text, as many of each label, in random order; titles are left out."""
    of_label, order = {"after": [], "before": []}, random.Random(1)
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        for sentence in [] if line.strip().startswith("=") else re.split(r"(?<= [.;!?]) ", line.strip()):
            words = sentence.lower().split()
            if 6 <= len(words) <= 60 and FIRST in words and SECOND in words:
                of_label["before" if words.index(FIRST) < words.index(SECOND) else "after"].append(" ".join(words))
    count = min(map(len, of_label.values()))
    pairs = [(text, label) for label, texts in of_label.items() for text in order.sample(texts, count)]
    order.shuffle(pairs)
    return pairs


def write_tsv(path, pairs):
    path.write_text("\n".join(["text\tlabel", *(f"{text}\t{label}" for text, label in pairs)]) + "\n", encoding="utf-8")


def make_init(args, seed):
    """The folder of random weights, as transformers saves them."""
    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=args.words, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HIDDEN // 64,
        intermediate_size=WIDE, max_position_embeddings=LENGTH, hidden_dropout_prob=DROPOUT,
        attention_probs_dropout_prob=DROPOUT, num_labels=2)
    transformers.BertForSequenceClassification(config).save_pretrained(args.work / f"init-{seed}")
    return args.work / f"init-{seed}"


class Tokens:
    """Sentences as tensors; label 0 is "after", as the sorted names are in cnntrain."""

    def __init__(self, pairs, vocabulary):
        tokeniser = transformers.BertTokenizer(str(vocabulary), do_lower_case=True)
        self.inputs = tokeniser([text for text, _ in pairs], padding="max_length", truncation=True, max_length=LENGTH,
                                return_tensors="pt")
        self.labels = torch.tensor([int(label == "before") for _, label in pairs])

    def batch(self, rows):
        """Rows without the columns that are padding in all of them, which change nothing."""
        longest = int(self.inputs["attention_mask"][rows].sum(1).max())
        return {key: value[rows, :longest] for key, value in self.inputs.items()}, self.labels[rows]


def make_optimiser(model):
    """AdamW by cnntrain's formula (adamw with corrects_step, include/cnntrain/graph/update_rule.h): the correction of
    the means' bias multiplies the whole step, and is one update ahead."""
    groups = decayed_apart(model, DECAY)
    means = {p: (torch.zeros_like(p), torch.zeros_like(p)) for group in groups for p in group["params"]}

    @torch.no_grad()
    def update(step, rate):
        ahead = step + 2
        correction = (1 - BETA2 ** ahead) ** 0.5 / (1 - BETA1 ** ahead)
        for group in groups:
            for p in group["params"]:
                mean, square = means[p]
                mean.mul_(BETA1).add_(p.grad, alpha=1 - BETA1)
                square.mul_(BETA2).addcmul_(p.grad, p.grad, value=1 - BETA2)
                p.sub_((mean / (square.sqrt() + EPSILON) + group["weight_decay"] * p) * (rate * correction))

    return update


def torch_accuracy(args, train, test, seed):
    torch.set_num_threads(args.threads)
    model = transformers.BertForSequenceClassification.from_pretrained(make_init(args, seed)).train()
    torch.manual_seed(1000 + seed)
    update, count = make_optimiser(model), len(train.labels)
    steps = args.epochs * count // BATCH
    stream = torch.cat([torch.randperm(count) for _ in range(args.epochs + 1)])  # batches straddle epochs
    for step in range(steps):
        inputs, labels = train.batch(stream[step * BATCH:(step + 1) * BATCH])
        model.zero_grad()
        model(**inputs, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        update(step, RATE * min(step / (WARMUP * steps), (steps - step) / (steps - WARMUP * steps)))
    model.eval()
    with torch.no_grad():
        batches = [test.batch(slice(begin, begin + BATCH)) for begin in range(0, len(test.labels), BATCH)]
        correct = sum((model(**inputs).logits.argmax(1) == labels).sum().item() for inputs, labels in batches)
    return 100 * correct / len(test.labels)


def own_accuracy(args, count, seed):
    """The last validation that the program prints."""
    text = run_program([
        args.cnntrain, "train", "--task", "text-classification", "--data-dir", args.work / "train.tsv",
        "--validation-file", args.work / "valid.tsv", "--vocab-file", args.vocab_file, "--init-checkpoint",
        make_init(args, seed) / "model.safetensors", "--vocab-size", args.words, "--hidden-size", HIDDEN,
        "--num-hidden-layers", LAYERS, "--num-attention-heads", HIDDEN // 64, "--intermediate-size", WIDE,
        "--max-position-embeddings", LENGTH, "--seq-length", LENGTH, "--layer-norm-epsilon", 1e-12,
        "--hidden-dropout-prob", DROPOUT, "--attention-probs-dropout-prob", DROPOUT, "--glue-dropout-prob", DROPOUT,
        "--micro-batch-size", BATCH, "--num-train-steps", args.epochs * count // BATCH, "--base-learning-rate", RATE,
        "--warmup", WARMUP, "--weight-decay-rate", DECAY, "--epsilon", EPSILON, "--seed", seed, "--log-dir",
        args.work / f"run-{seed}", "--threads", args.threads, *"--hidden-act gelu_erf --use-qkv-split --use-qkv-bias "
        "--gradient-accumulation-count 1 --optimizer adamw --lr-schedule polynomial_decay --use-debiasing --precision "
        "32".split()])
    return float(re.findall(r"Validation.*?accuracy:?\s+([\d.]+)", text)[-1])


def run(args):
    args.words = len(args.vocab_file.read_text(encoding="utf-8").splitlines())
    train, test = labelled(args.train), labelled(args.test)
    write_tsv(args.work / "train.tsv", train)
    write_tsv(args.work / "valid.tsv", test)
    print(f"{len(train)} sentences for training, {len(test)} held out")
    head("side", "held-out accuracy by seed, %", "mean")
    tokens, held_out = Tokens(train, args.vocab_file), Tokens(test, args.vocab_file)
    for name, values in (("PyTorch", [torch_accuracy(args, tokens, held_out, seed) for seed in args.seeds]),
                         ("cnntrain", [own_accuracy(args, len(train), seed) for seed in args.seeds])):
        row(name, " ".join(f"{value:.1f}" for value in values), f"{statistics.mean(values):.1f}")
    return 0
