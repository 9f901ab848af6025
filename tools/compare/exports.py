"""Exported networks in ONNX Runtime, torchvision, timm, transformers, TensorFlow: the same answers.

Every network is trained for some updates and converted. ONNX Runtime (after onnx.checker) takes batches of 1, 7 and 32,
and the photos: prepared here as the metadata says, and by the file itself; their classes are those of `cnntrain
inference`. torchvision and timm load strictly and answer as ONNX Runtime does. With --text and --vocab-file BERT is
exported, too, and transformers loads it. TensorFlow, if it is installed, restores every variable, bit by bit.
"""
import importlib.util
import pathlib
import json
import subprocess

from common import Package, answers, check, difference, pixels_of, prepared, result, run as run_program
from text import labelled, write_tsv

NEEDS = ["numpy", "torch", "torchvision", "timm", "transformers", "onnx", "onnxruntime", "safetensors", "PIL"]
np, torch, torchvision, timm, transformers, onnx, onnxruntime, safetensors, _ = map(Package, NEEDS)

NETWORKS = {
    "resnet18": "--model resnet --model-size 18 --batch-norm --padding symmetric",
    "resnet50": "--model resnet --model-size 50 --batch-norm --padding symmetric",
    "resnet14-group": "--model resnet --model-size 14 --group-norm --groups 8",
    "resnext50": "--model resnext --model-size 50 --batch-norm --padding symmetric",
    "efficientnet-b0": "--model efficientnet --model-size B0 --batch-norm --network-form large",
    "efficientnet-lite0": "--model efficientnet --model-size Lite0 --batch-norm --network-form large",
    "efficientnet-v2-b0": "--model efficientnet --model-size V2-B0 --batch-norm --network-form large",
    "efficientnet-v2-s": "--model efficientnet --model-size V2-S --batch-norm --network-form large --padding symmetric",
}
WEIGHTS = {"f32": 1e-4, "f16": 1e-2, "bf16": 5e-2}  # and the greatest difference of outputs
BERT = ("--hidden-size 128 --num-hidden-layers 2 --num-attention-heads 2 --intermediate-size 256 "
        "--max-position-embeddings 64 --seq-length 64 --precision 32 --micro-batch-size 16").split()
MASKED = 8


def add_options(parser):
    parser.add_argument("--networks", nargs="*", default=list(NETWORKS), choices=NETWORKS)
    parser.add_argument("--photos", type=pathlib.Path, help="class folders of photos (default: made-up ones)")
    parser.add_argument("--text", help="for BERT: text as WikiText's")
    parser.add_argument("--vocab-file", type=pathlib.Path, help="for BERT")
    parser.add_argument("--updates", type=int, default=50, help="length of the trainings")
    parser.add_argument("--image-size", type=int, default=64)


class Case:
    """A trained run, its files, and the lines about it."""

    def __init__(self, args, name, line):
        self.args, self.name, self.work, self.run = args, name, args.work / name, args.work / name / "run"
        if not (self.run / "arguments.json").exists():
            run_program([args.cnntrain, *line, "--logs-path", self.run, "--threads", args.threads])

    def convert(self, path, to, *more):
        return [self.args.cnntrain, "convert", self.run, path, "--to", to, "--overwrite", *more]

    def onnx(self, weights, *more):
        path = self.work / f"model_{weights}.onnx"
        run_program(self.convert(path, "onnx", "--weights", weights, *more))
        onnx.checker.check_model(onnx.load(path), full_check=True)
        return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def compare_batches(self, weights, runtime, outputs, inputs, wanted):
        """Compares the outputs of 32 samples with those of smaller batches and with wanted values."""
        whole = runtime.run(outputs, inputs)
        apart = max(difference(values[:n], part) for n in (1, 7) for values, part in
                    zip(whole, runtime.run(outputs, {key: value[:n] for key, value in inputs.items()})))
        beside = max(difference(a, b) for a, b in zip(wanted or whole, whole))
        check(f"{self.name}: onnx {weights}: batches of 1 and 7 beside 32: {apart:.1e}; beside "
                   f"{'what is wanted' if wanted else 'itself'}: {beside:.1e}", max(apart, beside) < WEIGHTS[weights])
        return whole

    def compare_tensorflow(self):
        """Every tensor of the checkpoint by its name, with its bits, in TensorFlow's two ways to read one."""
        if not importlib.util.find_spec("tensorflow"):
            return print(f"{self.name}: without TensorFlow, which is not installed")
        import tensorflow as tf
        run_program(self.convert(f"{self.work}/tf/", "tf"))
        prefix = tf.train.latest_checkpoint(str(self.work / "tf"))
        reader = tf.train.load_checkpoint(prefix)
        newest = max(self.run.glob("ckpt-[0-9]*.safetensors"), key=lambda path: path.stat().st_mtime)
        own = {name: tensor.reshape(-1).view(torch.uint8).numpy().tobytes()
               for name, tensor in safetensors.torch.load_file(newest).items()}
        read = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
        with tf.Graph().as_default(), tf.compat.v1.Session() as restored:
            variables = {name: tf.compat.v1.get_variable(name, initializer=tf.zeros(value.shape, value.dtype))
                         for name, value in read.items()}
            tf.compat.v1.train.Saver(variables).restore(restored, prefix)
            found = {name: np.asarray(value).tobytes() for name, value in restored.run(variables).items()}
        same = own == found == {name: value.tobytes() for name, value in read.items()}
        check(f"{self.name}: TensorFlow: Saver restores {len(read)} variables with the checkpoint's bits", same)


def compare_photos(case, what, inputs_of, logits_of, photos, wanted, exact):
    """Classes, and the probability of the winning one."""
    same, most = 0, 0.0
    for path in photos:
        found = logits_of(inputs_of(path)[None])[0]
        index = case.classes.index(wanted[path.name]["classes"][0])
        same += int(found.argmax() == index)
        most = max(most, abs(float(found[index]) - wanted[path.name]["probabilities"][0]))
    check(f"{case.name}: {what}: classes of {same} of {len(photos)} photos; probabilities differ by {most:.1e}",
               same == len(photos) if exact else same >= 0.97 * len(photos))


def compare_images(case, photos, wanted):
    plain = None
    for weights in WEIGHTS:
        for more in ([], ["--with-preprocessing"]):
            runtime = case.onnx(weights, "--probabilities", *more)
            metadata = runtime.get_modelmeta().custom_metadata_map
            case.how, case.classes = json.loads(metadata["preprocessing"]), json.loads(metadata["classes"])
            name, size = runtime.get_inputs()[0].name, case.how["image_size"]
            if not more:
                noise = np.random.default_rng(1).normal(size=(32, 3, size, size)).astype(np.float32)
                whole = case.compare_batches(weights, runtime, ["logits"], {name: noise}, plain)
                plain = plain or whole
            inputs_of = (lambda path: np.asarray(pixels_of(path))) if more else lambda path: prepared(path, case.how)
            compare_photos(case, f"onnx {weights}{', prepares photos' if more else ''}", inputs_of,
                           lambda x: runtime.run(["probabilities"], {name: x})[0], photos, wanted, weights == "f32")
    for library in ("torchvision", "timm"):
        compare_library(case, library, noise, plain[0], photos, wanted)


def compare_library(case, library, noise, plain, photos, wanted):
    folder = case.work / library
    done = subprocess.run(list(map(str, case.convert(f"{folder}/", library))), capture_output=True, text=True)
    if done.returncode != 0:
        return check(f"{case.name}: {library}: refused: {done.stderr.strip().splitlines()[-1]}", done.returncode == 4)
    if library == "timm":
        model = timm.create_model(f"local-dir:{folder}", pretrained=True)
        config = json.loads((folder / "config.json").read_text())["pretrained_cfg"]
        check(f"{case.name}: timm: config.json has the same preparation", config["mean"] == case.how["mean"]
                   and abs(config["crop_pct"] - case.how["crop_fraction"]) < 1e-9)
    else:
        with safetensors.safe_open(folder / "model.safetensors", "pt") as file:
            model = torchvision.models.get_model(file.metadata()["architecture"], num_classes=len(case.classes))
        model.load_state_dict(safetensors.torch.load_file(folder / "model.safetensors"), strict=True)
    model.eval()
    logits_of = lambda x: model(torch.from_numpy(x)).softmax(1).numpy()
    with torch.no_grad():
        apart = difference(plain, model(torch.from_numpy(noise)).numpy())
        check(f"{case.name}: {library}: strict load; logits beside ONNX Runtime: {apart:.1e}", apart < 1e-4)
        compare_photos(case, library, lambda path: prepared(path, case.how), logits_of, photos, wanted, True)


def compare_bert(case, words):
    run_program(case.convert(case.work / "hf", "hf"))
    classifies = "Sequence" in json.loads((case.work / "hf/config.json").read_text())["architectures"][0]
    kind = transformers.AutoModelForSequenceClassification if classifies else transformers.AutoModelForPreTraining
    model, found = kind.from_pretrained(str(case.work / "hf"), trust_remote_code=True, output_loading_info=True)
    check(f"{case.name}: transformers loads it strictly",
               not any(found[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")))
    draw, places = np.random.default_rng(1), np.arange(64)[None]
    lengths = draw.integers(20, 65, size=(32, 1))
    inputs = {"input_ids": draw.integers(0, words, size=(32, 64)), "attention_mask": places < lengths,
              "token_type_ids": (places >= 10) & (places < lengths),
              "masked_lm_positions": draw.integers(0, 20, size=(32, MASKED))}
    inputs = {name: value.astype(np.int32) for name, value in inputs.items()}
    given = {name: torch.from_numpy(value).long() for name, value in inputs.items()}
    masked = given.pop("masked_lm_positions")[..., None]
    with torch.no_grad():
        theirs = model.eval()(**given)
    if classifies:
        wanted = {"logits": theirs.logits.numpy()}
    else:
        rows = theirs.prediction_logits.gather(1, masked.expand(-1, -1, theirs.prediction_logits.shape[2]))
        wanted = {"prediction_logits": rows.numpy(), "seq_relationship_logits": theirs.seq_relationship_logits.numpy()}
    for weights in WEIGHTS:
        runtime = case.onnx(weights)
        given = {port.name: inputs[port.name] for port in runtime.get_inputs()}
        case.compare_batches(weights, runtime, list(wanted), given, list(wanted.values()))


def bert_cases(args):
    """Pretraining and classification on --text."""
    words = len(args.vocab_file.read_text(encoding="utf-8").splitlines())
    more = ["--vocab-size", words, "--num-train-steps", args.updates, *BERT]
    records, pairs = args.work / "records.tfrecord", labelled(args.text)
    run_program([args.cnntrain, "dataset", "bert", "--input-file", args.text, "--vocab-file", args.vocab_file,
                 "--output-file", records, "--sequence-length", 64, "--mask-tokens", MASKED, "--do-lower-case",
                 "--overwrite"])
    write_tsv(args.work / "train.tsv", pairs[64:])
    write_tsv(args.work / "valid.tsv", pairs[:64])
    yield Case(args, "bert-pretraining", ["pretrain", "--config", "pretrain_tiny_128_lamb", "--train-file", records,
                                          "--max-predictions-per-seq", MASKED, "--no-static-mask", *more]), words
    yield Case(args, "bert-classification", [
        "train", "--task", "text-classification", "--data-dir", args.work / "train.tsv", "--validation-file",
        args.work / "valid.tsv", "--vocab-file", args.vocab_file, "--base-learning-rate", 1e-3, *more]), words


def run(args):
    photos = args.photos or args.work / "photos/train"
    if not args.photos and not photos.exists():
        run_program([args.cnntrain, "dataset", "photos", "--output-dir", photos.parent, "--train", 64])
    paths = [path for path in photos.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png")]
    for name in args.networks:
        case = Case(args, name, ["train", "--data-dir", photos, "--iterations", args.updates, "--micro-batch-size", 8,
                                 "--image-size", args.image_size, "--interpolation", "bilinear", "--no-validation",
                                 "--abs-learning-rate", 0.02, *NETWORKS[name].split()])
        compare_images(case, paths, answers(args, case.run, photos, ["--precision", "32.32"]))
        case.compare_tensorflow()
    for case, words in bert_cases(args) if args.text else ():
        compare_bert(case, words)
        case.compare_tensorflow()
    return result()
