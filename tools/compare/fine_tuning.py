"""Fine-tuning of a pretrained BERT beside transformers and beside programs without a network.

FOLDER has a pretrained encoder: config.json, tokenizer.json and model.safetensors. TRAIN and TEST are texts as
WikiText's are. articles: sentences of the ten longest articles of TEST, of which a quarter is held out, are classified
by article; beside TF-IDF with logistic regression (scikit-learn), the best of several by held-out accuracy, and
transformers with the rate, the texts of an update and the epochs that cnntrain, with --packed, chooses. questions: a
sentence "SUBJECT is a PHRASE of ..." in a paragraph becomes "What is SUBJECT?"; the answer is the phrase from its
article or possessive to the word before the next preposition, conjunction or punctuation mark. Train's questions are
learnt, test's are asked; beside the words that follow the place with the most words of the question, as many as is best
for all questions of TEST, or up to the next punctuation mark.
"""
import json
import pathlib
import random
import re
import statistics
import time

from common import Package, decayed_apart, head, row, run as run_program

NEEDS = ["torch", "transformers", "sklearn"]
torch, transformers = map(Package, NEEDS[:2])
LENGTH = 128
ENDS = set(", ; ( ) – — : . who whom which that where when while in at on for from by to with and but or of as during "
           "since after before between near about than because through until under over".split())
VERBS, BEGINNINGS = {"is", "was", "are", "were", "became", "remained"}, {"a", "an", "the", "one", "his", "her", "its",
                                                                        "their"}
NO_SUBJECTS = set("it he she this there they these that which who what and but also".split())
AROUND = 60  # words of the context before and after a sentence


def add_options(parser):
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER", help="files of the encoder")
    parser.add_argument("train", type=pathlib.Path, metavar="TRAIN", help="UTF-8")
    parser.add_argument("test", type=pathlib.Path, metavar="TEST", help="UTF-8")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--what", nargs="+", default=["articles", "questions"], choices=["articles", "questions"])


def paragraphs_of(path):
    """The paragraphs of each article, without headings."""
    articles = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        title = re.match(r"^ = ([^=].*?) = $", line)
        if title:
            articles[title[1]] = []
        elif line.strip() and not line.startswith(" =") and articles:
            articles[list(articles)[-1]].append(line.strip())
    return articles


# ---- articles ----

def sentences_of(path):
    """(sentence, number of the article) in random order."""
    articles = paragraphs_of(path)
    longest = sorted(articles, key=lambda name: -sum(map(len, articles[name])))[:10]
    made = [(sentence, str(number)) for number, name in enumerate(longest) for paragraph in articles[name]
            for sentence in paragraph.split(" . ") if 5 <= len(sentence.split()) <= 100]
    random.Random(1).shuffle(made)
    return made


def write_tsv(path, pairs):
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in pairs), encoding="utf-8")


def regression_accuracy(train, test):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    best = 0
    for ngrams in (1, 2):
        words = TfidfVectorizer(ngram_range=(1, ngrams), sublinear_tf=True)
        features = words.fit_transform([text for text, _ in train])
        held_out = words.transform([text for text, _ in test])
        for strength in (1, 10, 100):
            model = LogisticRegression(C=strength, max_iter=1000).fit(features, [label for _, label in train])
            best = max(best, 100 * model.score(held_out, [label for _, label in test]))
    return best


def own_articles(args, seed):
    """Held-out accuracy, seconds, and the settings that the program chose."""
    start = time.perf_counter()
    text = run_program([
        args.cnntrain, "train", "--task", "text-classification", "--data-dir", args.work / "train.tsv",
        "--validation-file", args.work / "test.tsv", "--init-checkpoint", args.folder / "model.safetensors",
        "--seq-length", LENGTH, "--precision", 32, "--packed", "--seed", seed, "--logs-path",
        args.work / f"articles-{seed}", "--overwrite", "--threads", args.threads])
    chosen = dict(re.findall(r"--(base-learning-rate|micro-batch-size|epochs) ([\d.e-]+)", text))
    chosen["updates"] = re.findall(r"ckpt-(\d+)", text)[-1]
    return float(re.findall(r"Validation accuracy: +([\d.]+)", text)[-1]), time.perf_counter() - start, chosen


def batch_of(tokeniser, pairs):
    inputs = tokeniser([text for text, _ in pairs], padding=True, truncation=True, max_length=LENGTH,
                       return_tensors="pt")
    return {name: inputs[name] for name in ("input_ids", "attention_mask")}, torch.tensor([int(label) for _, label in
                                                                                           pairs])


def torch_articles(args, train, test, seed, chosen):
    start = time.perf_counter()
    torch.set_num_threads(args.threads)
    torch.manual_seed(seed)
    transformers.utils.logging.set_verbosity_error()
    tokeniser = transformers.PreTrainedTokenizerFast(tokenizer_file=str(args.folder / "tokenizer.json"),
                                                     pad_token="[PAD]")
    model = transformers.BertForSequenceClassification.from_pretrained(args.folder, num_labels=10).train()
    rate, epochs, steps = float(chosen["base-learning-rate"]), int(chosen["epochs"]), int(chosen["updates"])
    batch, step = round(epochs * len(train) / steps), 0
    optimiser = torch.optim.AdamW(decayed_apart(model, 0.01), lr=rate, eps=1e-6)
    schedule = transformers.get_linear_schedule_with_warmup(optimiser, steps // 10, steps)
    while step < steps:
        order = torch.randperm(len(train)).tolist()
        for begin in range(0, len(order) - batch + 1, batch):
            inputs, labels = batch_of(tokeniser, [train[i] for i in order[begin:begin + batch]])
            loss = model(**inputs, labels=labels).loss
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            step += 1
            if step == steps:
                break
    model.eval()
    with torch.no_grad():
        parts = [batch_of(tokeniser, test[begin:begin + 32]) for begin in range(0, len(test), 32)]
        right = sum((model(**inputs).logits.argmax(1) == labels).sum().item() for inputs, labels in parts)
    return 100 * right / len(test), time.perf_counter() - start


def by_seed(side, seeds, run_one):
    """A row for each seed, then one of means; run_one returns a percentage, seconds and more."""
    values = []
    for seed in seeds:
        values.append(run_one(seed))
        row(side, seed, *(f"{value:.1f}" for value in values[-1][:2]))
    row(side, "mean", *(f"{statistics.mean(column):.1f}" for column in list(zip(*values))[:2]))
    return values


def compare_articles(args):
    made = sentences_of(args.test)
    held_out = len(made) // 4
    train, test = made[held_out:], made[:held_out]
    write_tsv(args.work / "train.tsv", train)
    write_tsv(args.work / "test.tsv", test)
    print(f"{len(train)} sentences of ten articles for training, {len(test)} held out")
    head("side", "seed", "held-out accuracy, %", "seconds")
    row("TF-IDF, logistic regression", "", f"{regression_accuracy(train, test):.1f}", "")
    own = by_seed("cnntrain", args.seeds, lambda seed: own_articles(args, seed))
    by_seed("transformers", args.seeds, lambda seed: torch_articles(args, train, test, seed, own[0][2]))
    print("chosen:", own[0][2])


# ---- questions ----

def phrase_of(words):
    """(subject, verb, first word of the answer, the word behind it); nothing if the sentence has none."""
    for i in range(1, min(len(words) - 3, 14)):
        if words[i] not in VERBS or words[i + 1] not in BEGINNINGS:
            continue
        subject = words[max(0, i - 6):i]
        end = next((j for j in range(i + 2, len(words)) if words[j] in ENDS), len(words))
        if subject[-1].lower() in NO_SUBJECTS or "<unk>" in subject or not 2 <= end - i - 1 <= 8:
            return None
        return " ".join(subject), words[i], i + 1, end
    return None


def questions_of(path):
    made = []
    for paragraphs in paragraphs_of(path).values():
        for paragraph in paragraphs:
            words, first = paragraph.split(), 0
            for sentence in paragraph.split(" . "):
                count = len(sentence.split())
                found = phrase_of(words[first:first + count])
                if found:
                    subject, verb, begin, end = found
                    lowest = max(0, first - AROUND)
                    context = words[lowest:first + count + AROUND]
                    begin, end = begin + first - lowest, end + first - lowest
                    made.append({"question": f"What {verb} {subject} ?", "context": context, "begin": begin,
                                 "answer": " ".join(context[begin:end])})
                first += count + 1
    return made


def write_questions(path, made):
    paragraphs = [{"context": " ".join(one["context"]), "qas": [{
        "id": str(number), "question": one["question"],
        "answers": [{"text": one["answer"], "answer_start": len(" ".join([*one["context"][:one["begin"]], ""]))}]}]}
                  for number, one in enumerate(made)]
    path.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}), encoding="utf-8")


def plain(text):
    """As the evaluation of SQuAD compares texts."""
    text = re.sub(r"[^\w\s]", "", text.lower())
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def following(one):
    """The words behind the place with the most words of the question before it, of equal ones the first."""
    asked, context = set(one["question"].lower().split()[1:-1]), one["context"]
    return context[max(range(1, len(context)), key=lambda at: len(asked & {word.lower() for word in
                                                                           context[max(0, at - 7):at]})):]


def until_punctuation(words):
    end = next((i for i, word in enumerate(words) if not re.search(r"\w", word)), len(words))
    return " ".join(words[:end])


def own_questions(args, seed):
    """Exact match of the questions that were not learnt, seconds."""
    start, folder = time.perf_counter(), args.work / f"questions-{seed}"
    run_program([
        args.cnntrain, "train", "--task", "question-answering", "--data-dir", args.work / "train.json",
        "--init-checkpoint", args.folder / "model.safetensors", "--seq-length", 256, "--precision", 32, "--seed", seed,
        "--logs-path", folder, "--overwrite", "--threads", args.threads])
    text = run_program([args.cnntrain, "inference", "--restore-path", folder, "--data-dir", args.work / "test.json",
                        "--no-logs", "--threads", args.threads])
    return float(re.search(r"Exact Match: +([\d.]+)", text)[1]), time.perf_counter() - start


def compare_questions(args):
    train, test = questions_of(args.train), questions_of(args.test)
    write_questions(args.work / "train.json", train)
    write_questions(args.work / "test.json", test)
    print(f"{len(train)} questions for training, {len(test)} asked")
    exact = lambda answer: 100 * statistics.mean(plain(answer(one)) == plain(one["answer"]) for one in test)
    head("side", "seed", "exact match, %", "seconds")
    fixed = {count: exact(lambda one, count=count: " ".join(following(one)[:count])) for count in range(1, 9)}
    count = max(fixed, key=fixed.get)
    row(f"{count} words behind the overlap", "", f"{fixed[count]:.1f}", "")
    row("words up to a punctuation mark", "", f"{exact(lambda one: until_punctuation(following(one))):.1f}", "")
    by_seed("cnntrain", args.seeds, lambda seed: own_questions(args, seed))


def run(args):
    if "articles" in args.what:
        compare_articles(args)
    if "questions" in args.what:
        compare_questions(args)
    return 0
