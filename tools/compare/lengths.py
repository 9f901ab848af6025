"""Rates of texts of natural lengths beside ONNX Runtime, OpenVINO and transformers.

FILE is a text with " . " between its sentences, as WikiText is: those of 5 to 100 words, without headings, are the
texts. Inference: all networks have the same weights, a classifier on MODEL, which is a folder with a model's
config.json, model.safetensors and tokenizer.json or vocab.txt; without one, BERT-Base with random weights and
--vocab-file. cnntrain reads them in file order and packs rows of 128 tokens. The others take 8 texts at a time, padded
to the longest of them, in file order and sorted by length. Their texts are tokenised before the time is taken, as
cnntrain's are. The logits of the float32 sides must agree. In 8 bits, ONNX Runtime quantises dynamically, with a scale
for each output of a weight, and OpenVINO reads what NNCF makes with all texts; cnntrain's other numbers are in
bfloat16, as OpenVINO's are. Training, with --train: transformers takes 16 texts at a time, padded to the longest,
eager, with PyTorch's AdamW.
"""
import json
import math
import pathlib
import re
import statistics
import sys
import time

from common import Package, centred, check, head, in_turns, ratio, result, row, run as run_program, spread

NEEDS = ["numpy", "torch", "transformers", "onnx", "onnxruntime", "openvino", "nncf"]
np, torch, transformers, onnxruntime, openvino = map(Package, ["numpy", "torch", "transformers", "onnxruntime",
                                                               "openvino"])
LENGTH, BATCH, TRAINED_BATCH = 128, 8, 16
CLASSES = ["a", "b"]
CLOSE = 1e-3


def add_options(parser):
    parser.add_argument("file", type=pathlib.Path, metavar="FILE", help="UTF-8")
    parser.add_argument("--model", type=pathlib.Path, metavar="MODEL", help="default: BERT-Base with random weights")
    parser.add_argument("--vocab-file", type=pathlib.Path, help="of BERT-Base")
    parser.add_argument("--texts", type=int, default=300, help="the first ones of the file")
    parser.add_argument("--times", type=int, default=1, help="how often all texts are read in one turn")
    parser.add_argument("--bits", nargs="+", type=int, default=[32, 16], choices=[32, 16, 8])
    parser.add_argument("--train", action="store_true", help="compare training instead of inference")


def texts_of(args):
    lines = args.file.read_text(encoding="utf-8").splitlines()
    sentences = [sentence.strip() for line in lines if line.strip() and not line.strip().startswith("=")
                 for sentence in line.split(" . ")]
    return [text for text in sentences if 5 <= len(text.split()) <= 100][:args.texts] * args.times


def make_model(args):
    """The folder of the classifier's weights."""
    folder = args.work / "classifier"
    if not folder.exists():
        transformers.utils.logging.set_verbosity_error()
        torch.manual_seed(1)
        if args.model:
            network = transformers.BertForSequenceClassification.from_pretrained(args.model, num_labels=len(CLASSES))
        else:
            network = transformers.BertForSequenceClassification(transformers.BertConfig(num_labels=len(CLASSES)))
        network.save_pretrained(folder)
        words = args.model / "tokenizer.json" if args.model else args.vocab_file
        if not words.exists():
            words = args.model / "vocab.txt"
        (folder / ("tokenizer.json" if words.suffix == ".json" else "vocab.txt")).write_bytes(words.read_bytes())
        example = {name: torch.ones(2, 7, dtype=torch.int64)
                   for name in ("input_ids", "attention_mask", "token_type_ids")}
        axes = {name: {0: "texts", 1: "tokens"} for name in example} | {"logits": {0: "texts"}}
        torch.onnx.export(network.eval(), (example["input_ids"], example["attention_mask"], example["token_type_ids"]),
                          str(folder / "model.onnx"), input_names=list(example), output_names=["logits"],
                          dynamic_axes=axes, dynamo=False)
    return folder


def tokenised(folder, texts):
    """The ids of each text."""
    if (folder / "tokenizer.json").exists():
        tokeniser = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    else:
        tokeniser = transformers.BertTokenizer(str(folder / "vocab.txt"), do_lower_case=True)
    return [tokeniser(text, truncation=True, max_length=LENGTH)["input_ids"] for text in texts]


def batches(ids, batch, by_length):
    order = sorted(range(len(ids)), key=lambda i: len(ids[i])) if by_length else list(range(len(ids)))
    for begin in range(0, len(order), batch):
        rows = order[begin:begin + batch]
        longest = max(len(ids[i]) for i in rows)
        given = np.zeros((len(rows), longest), np.int64)
        mask = np.zeros_like(given)
        for at, i in enumerate(rows):
            given[at, :len(ids[i])], mask[at, :len(ids[i])] = ids[i], 1
        yield rows, {"input_ids": given, "attention_mask": mask, "token_type_ids": np.zeros_like(given)}


def onnx_in_eight_bits(model):
    from onnxruntime.quantization import quantize_dynamic
    narrow = model.with_name("model-8.onnx")
    if not narrow.exists():
        quantize_dynamic(model, narrow, per_channel=True)
    return narrow


def openvino_in_eight_bits(model):
    import nncf
    narrow = model.with_name("model-8.xml")
    if not narrow.exists():
        ids = json.loads(model.with_name("ids.json").read_text())
        samples = [inputs for _, inputs in batches(ids, 1, False)]
        made = nncf.quantize(openvino.Core().read_model(model), nncf.Dataset(samples), subset_size=len(samples),
                             model_type=nncf.ModelType.TRANSFORMER)
        openvino.save_model(made, narrow)
    return narrow


def load_onnx_runtime(model, bits, threads):
    if bits == 8:
        model = onnx_in_eight_bits(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(["logits"], inputs)[0]


def load_openvino(model, bits, threads):
    if bits == 8:
        model = openvino_in_eight_bits(model)
    request = openvino.Core().compile_model(model, "CPU", {
        "INFERENCE_PRECISION_HINT": "f32" if bits == 32 else "bf16", "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads}).create_infer_request()
    return lambda inputs: request.infer(inputs)["logits"].copy()


PEERS = {"ONNX Runtime": (load_onnx_runtime, [32, 8]), "OpenVINO": (load_openvino, [32, 16, 8])}


def peer_inference(name, folder, bits, threads, by_length):
    """Rate and logits of a peer, in a process of its own."""
    folder = pathlib.Path(folder)
    ids = json.loads((folder / "ids.json").read_text())
    answer = PEERS[name][0](folder / "model.onnx", bits, threads)
    made = list(batches(ids, BATCH, by_length))
    for _, inputs in made:  # each length is new once
        answer(inputs)
    start, logits = time.perf_counter(), np.zeros((len(ids), len(CLASSES)))
    for rows, inputs in made:
        logits[rows] = answer(inputs)
    seconds = time.perf_counter() - start
    return [len(ids) / seconds, logits.tolist()]


def peer_training(folder, bits, threads, seconds):
    """Texts per second of an eager training of transformers' classifier."""
    torch.set_num_threads(threads)
    folder = pathlib.Path(folder)
    ids = json.loads((folder / "ids.json").read_text())
    network = transformers.BertForSequenceClassification.from_pretrained(folder).train()
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-5)
    done, start = 0, None
    while start is None or time.perf_counter() - start < seconds:
        for rows, inputs in batches(ids, TRAINED_BATCH, False):
            given = {name: torch.from_numpy(value) for name, value in inputs.items()}
            with torch.autocast("cpu", torch.bfloat16, enabled=bits == 16):
                loss = network(**given, labels=torch.tensor([i % 2 for i in rows])).loss
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            if start is not None:
                done += len(rows)
                if time.perf_counter() - start >= seconds:
                    break
            elif rows[0] >= 2 * TRAINED_BATCH:  # three updates to warm up
                start = time.perf_counter()
    return [done / (time.perf_counter() - start), None]


class Own:
    def __init__(self, args, folder):
        self.args, self.weights = args, folder / "model.safetensors"
        self.texts = args.work / "texts.tsv"
        texts = texts_of(args)
        self.texts.write_text("text\tlabel\n" + "".join(f"{text}\t{CLASSES[i % 2]}\n" for i, text in enumerate(texts)),
                              encoding="utf-8")
        (folder / "ids.json").write_text(json.dumps(tokenised(folder, texts)))

    def words(self, command, *weights):
        return [self.args.cnntrain, command, *weights, "--task", "text-classification", "--data-dir",
                self.texts, "--seq-length", LENGTH, "--threads", self.args.threads]

    def in_eight_bits(self):
        narrow = self.weights.with_name("8.safetensors")
        if not narrow.exists():
            run_program([*self.words("quantise", self.weights), "--output", narrow, "--most-loss", 100])
        return narrow

    def inference(self, bits):
        weights = self.in_eight_bits() if bits == 8 else self.weights
        path = self.args.work / "predictions.jsonl"
        path.unlink(missing_ok=True)
        text = run_program([*self.words("inference", "--restore-path", weights), "--precision", max(bits, 16),
                            "--micro-batch-size", BATCH, "--predictions", path, "--no-logs"])
        logits = np.zeros((len(self.texts.read_text(encoding="utf-8").splitlines()) - 1, len(CLASSES)))
        for found in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            logits[found["row"] - 1] = [math.log(found["probabilities"][found["classes"].index(name)])
                                        for name in CLASSES]
        return float(re.search(r"throughput: ([\d.]+) samples/sec", text)[1]), logits

    def training(self, bits):
        text = run_program([
            *self.words("train", "--init-checkpoint", self.weights), "--no-validation", "--logs-path",
            self.args.work / "trained", "--overwrite", "--precision", bits,
            *"--packed --micro-batch-size 4 --epochs 1 --log-freq 5".split()])
        return float(re.findall(r"throughput: +([\d.]+) samples/sec", text)[-1])


def in_process(args, **words):
    words |= {"threads": args.threads}
    return json.loads(run_program([sys.executable, __file__, json.dumps(words)]).splitlines()[-1])


def compare_inference(args, own, bits):
    found = {}

    def turn(name, by_length):
        rate, found[name] = in_process(args, what="inference", name=name, folder=str(own.weights.parent), bits=bits,
                                       by_length=by_length)
        return rate

    def own_turn():
        rate, found["cnntrain"] = own.inference(bits)
        return rate

    sides = {("cnntrain", ""): own_turn}
    for name, (_, possible) in PEERS.items():
        for by_length in (False, True) if bits in possible else ():
            sides[name, by_length] = lambda name=name, by_length=by_length: turn(name, by_length)
    rates = in_turns(args.rounds, sides)
    for by_length in (False, True):
        others = {name: rates[name, by_length] for name in PEERS if (name, by_length) in rates}
        best = max(others, key=lambda name: statistics.median(others[name]))
        row("inference", bits, "sorted" if by_length else "file order", spread(rates["cnntrain", ""]),
            *[spread(others[name]) if name in others else "-" for name in PEERS],
            f"{ratio(rates['cnntrain', ''], others[best])}, {best}")
    if bits == 32:
        wanted = centred(np.array(found["ONNX Runtime"]))
        apart = float(abs(centred(found["cnntrain"]) - wanted).max() / max(1, abs(wanted).max()))
        check(f"  logits differ by {apart:.0e}", apart <= CLOSE)


def compare_training(args, own, bits):
    def turn():
        return in_process(args, what="training", folder=str(own.weights.parent), bits=bits, seconds=20)[0]

    rates = in_turns(args.rounds, {"cnntrain": lambda: own.training(bits), "transformers": turn})
    row("training", bits, "file order", spread(rates["cnntrain"]), spread(rates["transformers"]), "-",
        ratio(rates["cnntrain"], rates["transformers"]))


def run(args):
    own = Own(args, make_model(args))
    head("work", "bits", "order", "cnntrain, texts/s", *(["transformers", ""] if args.train else PEERS), "ratio")
    for bits in args.bits:
        (compare_training if args.train else compare_inference)(args, own, bits)
    return result()


def peer(what, **words):
    print(json.dumps(peer_training(**words) if what == "training" else peer_inference(**words)))


if __name__ == "__main__":
    peer(**json.loads(sys.argv[1]))
