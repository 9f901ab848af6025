"""Tokens and answers of a pretrained BERT beside Hugging Face's `tokenizers` and `transformers`.

FOLDER has a model's config.json, tokenizer.json and model.safetensors. Compared of each TEXT: the ids of all lines; and
for questions made of its lines, the two logits of each token and the best answers. cnntrain trains the head that finds
answers for a few updates, with the encoder as it is in FOLDER; transformers reads the encoder from FOLDER, and gets
that head.
"""
import json
import pathlib
import random

from common import Package, check, result, run as run_program

NEEDS = ["torch", "transformers", "tokenizers", "safetensors"]
torch, transformers, tokenizers, safetensors = map(Package, NEEDS)
LENGTH, WORDS, QUERY, UPDATES, RATE = 256, 110, 10, 20, 0.01
N_BEST, LONGEST = 20, 30  # as cnntrain has them by default
CLOSE = 1e-4


def add_options(parser):
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER", help="files of the model")
    parser.add_argument("texts", type=pathlib.Path, metavar="TEXT", nargs="+", help="UTF-8")
    parser.add_argument("--questions", type=int, default=60, help="of each text")


def compare_tokens(args, peer, path):
    lines = path.read_bytes().decode("utf-8", "ignore").removesuffix("\n").split("\n")
    ours = run_program([args.tools / "bench_tokeniser", args.folder / "tokenizer.json", path, "--ids"]).split("\n")
    theirs = peer.encode_batch(lines, add_special_tokens=False)
    apart = sum(ids != " ".join(map(str, encoding.ids)) for ids, encoding in zip(ours, theirs))
    count = sum(len(encoding.ids) for encoding in theirs)
    check(f"{path.name}: {len(lines)} lines, {count} tokens; {apart} lines with other ids", apart == 0)


def make_questions(args, peer, path, name):
    """A file of SQuAD's layout: the query is the beginning of another line, the answer some words of the context."""
    order = random.Random(1)
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [words[:WORDS] for words in lines if len(words) > QUERY]
    order.shuffle(lines)
    paragraphs = []
    for words, others in zip(lines, lines[1:]):
        context, query = " ".join(words), " ".join(others[:QUERY])
        if len(peer.encode(query, context).ids) > LENGTH or len(paragraphs) == args.questions:
            continue
        first = order.randrange(len(words))
        answer = " ".join(words[first:first + order.randint(1, 4)])
        answers = [{"text": answer, "answer_start": len(" ".join([*words[:first], ""]))}]
        paragraphs.append({"context": context, "qas": [
            {"id": str(len(paragraphs)), "question": query, "answers": answers}]})
    file = args.work / name
    file.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}), encoding="utf-8")
    return file, paragraphs


def train_head(args, file):
    """The checkpoint of a run that trains the head alone."""
    run_program([
        args.cnntrain, "train", "--task", "question-answering", "--data-dir", file, "--init-checkpoint",
        args.folder / "model.safetensors", "--seq-length", LENGTH, "--variable-filter", "cls/squad", "--iterations",
        UPDATES, "--base-learning-rate", RATE, "--seed", 1, "--logs-path", args.work / "run", "--threads", args.threads,
        *"--precision 32 --micro-batch-size 4 --overwrite".split()])
    return next((args.work / "run").rglob(f"ckpt-{UPDATES}.safetensors"))


def own_answers(args, checkpoint, file, **options):
    """The best answers of each question."""
    folder = args.work / "answers"
    words = [word for key, value in options.items() for word in ("--" + key.replace("_", "-"), value)]
    run_program([args.cnntrain, "inference", "--restore-path", checkpoint, "--data-dir", file, "--logs-path", folder,
                 "--overwrite", "--threads", args.threads, *words])
    return json.loads((folder / "best_predictions.json").read_text(encoding="utf-8"))


def peer_model(args, checkpoint):
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(args.threads)
    head = safetensors.torch.load_file(str(checkpoint))
    model = transformers.BertForQuestionAnswering.from_pretrained(args.folder).eval()
    model.qa_outputs.weight.data = head["cls/squad/output_weights"].clone()
    model.qa_outputs.bias.data = head["cls/squad/output_bias"].clone()
    return model


class Logits:
    """Of the tokens of a context, by transformers."""

    def __init__(self, model, peer, paragraph):
        self.context = paragraph["context"]
        tokens = peer.encode(paragraph["qas"][0]["question"], self.context)
        with torch.no_grad():
            answer = model(input_ids=torch.tensor([tokens.ids]), token_type_ids=torch.tensor([tokens.type_ids]))
        places = [i for i, (kind, special) in enumerate(zip(tokens.type_ids, tokens.special_tokens_mask))
                  if kind == 1 and not special]
        self.start, self.end = answer.start_logits[0, places].tolist(), answer.end_logits[0, places].tolist()
        self.offsets = [tokens.offsets[i] for i in places]

    def text(self, first, last):
        return self.context[self.offsets[first][0]:self.offsets[last][1]]

    def pairs(self, longest):
        return [(i, j) for i in range(len(self.start)) for j in range(i, min(i + longest, len(self.start)))]

    def best(self):
        """The best answer, whose ends are among the best of their kind."""
        def candidates(logits):
            return set(sorted(range(len(logits)), key=lambda i: -logits[i])[:N_BEST])

        starts, ends = candidates(self.start), candidates(self.end)
        return max(((i, j) for i, j in self.pairs(LONGEST) if i in starts and j in ends),
                   key=lambda pair: self.start[pair[0]] + self.end[pair[1]])


def differences(found, logits, longest):
    """For each answer with a text that the peer's tokens have, too: the distance of its logits from the nearest of such
    tokens."""
    by_text = {}
    for i, j in logits.pairs(longest):
        by_text.setdefault(logits.text(i, j), []).append((logits.start[i], logits.end[j]))
    return [min(max(abs(start - answer["start_logit"]), abs(end - answer["end_logit"]))
                for start, end in by_text[answer["text"]]) for answer in found if answer["text"] in by_text]


def compare_answers(args, model, peer, checkpoint, path):
    file, paragraphs = make_questions(args, peer, path, "asked.json")
    logits = [Logits(model, peer, paragraph) for paragraph in paragraphs]
    ours = own_answers(args, checkpoint, file, max_answer_length=1, n_best_size=LENGTH)
    found = [answer for i in range(len(logits)) for answer in ours[str(i)]]
    apart = [x for i, of_question in enumerate(logits) for x in differences(ours[str(i)], of_question, 1)]
    sizes = [abs(x) for of_question in logits for x in of_question.start + of_question.end]
    check(f"{path.name}: {len(logits)} questions; logits of {len(apart)} of {len(found)} tokens with different texts "
          f"differ by at most {max(apart):.1e}, the greatest is {max(sizes):.1f}",
          max(apart) < CLOSE and len(apart) > 0.9 * len(found))
    ours, worst, same = own_answers(args, checkpoint, file), 0, 0
    for i, of_question in enumerate(logits):
        first, last = of_question.best()
        answer = ours[str(i)][0]
        same += answer["text"] == of_question.text(first, last)
        worst = max(worst, abs(answer["start_logit"] - of_question.start[first]),
                    abs(answer["end_logit"] - of_question.end[last]))
    check(f"{path.name}: the best answers have {same} of {len(logits)} texts in common, logits differ by at most "
          f"{worst:.1e}", worst < CLOSE and same > 0.9 * len(logits))


def run(args):
    peer = tokenizers.Tokenizer.from_file(str(args.folder / "tokenizer.json"))
    peer.no_truncation()
    peer.no_padding()
    for path in args.texts:
        compare_tokens(args, peer, path)
    checkpoint = train_head(args, make_questions(args, peer, args.texts[0], "taught.json")[0])
    model = peer_model(args, checkpoint)
    for path in args.texts:
        compare_answers(args, model, peer, checkpoint, path)
    return result()
