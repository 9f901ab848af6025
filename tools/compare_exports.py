#!/usr/bin/env python3
"""Exports networks and compares the files with programs that share nothing with cnntrain.

usage: compare_exports.py CNNTRAIN PHOTOS ALL WORK [--networks NAME...] [--tensorflow] [--text FILE --vocab-file FILE]

Needs onnx, onnxruntime, timm, torchvision, transformers, safetensors, torch, Pillow, numpy; --tensorflow needs that.

Every case trains a small run, converts it, and compares:
- ONNX: onnx.checker, and ONNX Runtime in batches of 1, 7 and 32 on random input; then with the predictions of
  `cnntrain inference` on every photo, both prepared here as the metadata says and by the file itself;
- torchvision and timm: a strict load, and the same from the photo's bytes to its class;
- TensorFlow: tf.train.load_checkpoint and a Saver that restores every variable, bit by bit;
- BERT: transformers loads the folder strictly; its logits and ONNX Runtime's are compared, and the classes of texts
  with those of `cnntrain inference`.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np
from PIL import Image, ImageOps

from compare_text import labelled, write_tsv

NETWORKS = {
    "resnet18": "--model resnet --model-size 18 --batch-norm",
    "resnet50": "--model resnet --model-size 50 --batch-norm",
    "resnet14-group": "--model resnet --model-size 14 --group-norm --groups 8",
    "resnet18-symmetric": "--model resnet --model-size 18 --batch-norm --padding symmetric",
    "resnet50-symmetric": "--model resnet --model-size 50 --batch-norm --padding symmetric",
    "resnext14": "--model resnext --model-size 14 --batch-norm",
    "resnext50-symmetric": "--model resnext --model-size 50 --batch-norm --padding symmetric",
    "efficientnet-b0": "--model efficientnet --model-size B0 --batch-norm --network-form large",
    "efficientnet-b0-group": "--model efficientnet --model-size B0 --group-norm --groups 4",
    "efficientnet-b0-symmetric":
        "--model efficientnet --model-size B0 --batch-norm --padding symmetric --norm-epsilon 1e-5 "
        "--network-form large",
}


def run(program, words):
    line = [program] + words
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(line)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def photos_in(folder):
    kinds = {".jpg", ".jpeg", ".png"}
    return sorted(p for p in pathlib.Path(folder).rglob("*") if p.suffix.lower() in kinds)


def pixels_of(path):
    return ImageOps.exif_transpose(Image.open(path)).convert("RGB")


def prepared(path, how):
    """The network's input of a photo, as the metadata of an export describes it; Pillow's antialiased resizes."""
    image = pixels_of(path)
    size = how["image_size"]
    filters = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
    side = how["shorter_side"]
    width, height = image.size
    scale = side / min(width, height)
    resized = (side, int(height * scale)) if width <= height else (int(width * scale), side)
    image = image.resize(resized, filters[how["interpolation"]])
    left, top = round((resized[0] - size) / 2), round((resized[1] - size) / 2)
    pixels = np.asarray(image.crop((left, top, left + size, top + size)), np.float32) / 255
    pixels = (pixels - np.array(how["mean"], np.float32)) / np.array(how["std"], np.float32)
    return pixels.transpose(2, 0, 1)


def predicted(program, run_folder, photos, out):
    """Class and probability of each photo by its path, by cnntrain."""
    run(program, ["inference", "--restore-path", run_folder, "--data-dir", photos, "--predictions", out,
                  "--precision", "32.32"])
    answers = {}
    for line in pathlib.Path(out).read_text().splitlines():
        row = json.loads(line)
        answers[row["image"]] = (row["classes"][0], row["probabilities"][0])
    return answers


def session(path):
    import onnx
    import onnxruntime
    onnx.checker.check_model(onnx.load(path), full_check=True)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def difference(expected, got):
    return float(np.abs(expected - got).max() / max(1, np.abs(expected).max()))


WEIGHTS = [("f32", 1e-4), ("f16", 1e-2), ("bf16", 5e-2)]  # and the greatest difference of outputs


def exported(program, run_folder, work, weights, *more):
    path = str(work / f"model_{weights}{'_photos' if '--with-preprocessing' in more else ''}.onnx")
    run(program, ["convert", run_folder, path, "--to", "onnx", "--weights", weights, "--overwrite", *more])
    return session(path)


def batches_agree(runtime, outputs, inputs, plain):
    """The outputs of 32 samples, the difference of batches of 1 and 7 from them, and of them from `plain`."""
    whole = runtime.run(outputs, inputs)
    apart = max(difference(all_of[:n], part) for n in (1, 7)
                for all_of, part in zip(whole, runtime.run(outputs, {k: v[:n] for k, v in inputs.items()})))
    return whole, apart, max(difference(a, b) for a, b in zip(plain or whole, whole))


def compare_photos(runtime, what, inputs_of, names, photos, expected, exact, report):
    same, most = 0, 0.0
    name = runtime.get_inputs()[0].name
    for path, (name_of_class, probability) in zip(photos, expected):
        index = names.index(name_of_class)
        answer = runtime.run(["probabilities"], {name: inputs_of(path)})[0][0]
        same += int(answer.argmax() == index)
        most = max(most, abs(float(answer[index]) - probability))
    report(f"{what}: top-1 of {same} of {len(photos)} photos; probabilities differ by {most:.1e}",
           same == len(photos) if exact else same >= 0.97 * len(photos))


def compare_onnx(program, run_folder, work, photos, expected, report):
    plain = None
    for weights, allowed in WEIGHTS:
        runtime = exported(program, run_folder, work, weights, "--probabilities")
        metadata = runtime.get_modelmeta().custom_metadata_map
        how, names = json.loads(metadata["preprocessing"]), json.loads(metadata["classes"])
        size = how["image_size"]
        noise = np.random.default_rng(1).normal(size=(32, 3, size, size)).astype(np.float32)
        whole, apart, beside = batches_agree(runtime, ["logits"], {runtime.get_inputs()[0].name: noise}, plain)
        plain = plain or whole
        report(f"onnx {weights}: batches 1 and 7 beside 32: {apart:.1e}; beside f32: {beside:.1e}",
               apart < allowed and beside < allowed)
        if not photos:
            continue
        compare_photos(runtime, f"onnx {weights}", lambda path: prepared(path, how)[None], names, photos, expected,
                       weights == "f32", report)
        inside = exported(program, run_folder, work, weights, "--probabilities", "--with-preprocessing")
        compare_photos(inside, f"onnx {weights} of photos", lambda path: np.asarray(pixels_of(path))[None], names,
                       photos, expected, weights == "f32", report)


def compare_tensorflow(program, run_folder, work, report):
    """Every tensor of the checkpoint by its name, with its bits, in TensorFlow's two ways to read one."""
    import tensorflow as tf
    import torch
    from safetensors import safe_open
    folder = work / "tf"
    run(program, ["convert", run_folder, str(folder) + "/", "--to", "tf", "--overwrite"])
    prefix = tf.train.latest_checkpoint(str(folder))
    reader = tf.train.load_checkpoint(prefix)
    newest = max(pathlib.Path(run_folder).glob("ckpt-[0-9]*.safetensors"), key=lambda path: path.stat().st_mtime)
    with safe_open(newest, "pt") as file:
        own = {name: file.get_tensor(name) for name in file.keys()}
    read = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    same = set(own) == set(read)
    with tf.Graph().as_default(), tf.compat.v1.Session() as restored:
        variables = {name: tf.compat.v1.get_variable(name, initializer=tf.zeros(value.shape, value.dtype))
                     for name, value in read.items()}
        tf.compat.v1.train.Saver(variables).restore(restored, prefix)
        for name, value in restored.run(variables).items():
            of_own = own[name].reshape(-1).view(torch.uint8).numpy().tobytes()
            same = same and np.asarray(value).tobytes() == of_own and read[name].tobytes() == of_own
    report(f"TensorFlow: Saver restores {len(read)} variables, all with the checkpoint's bits", same)


def compare_library(program, run_folder, work, library, photos, expected, report):
    import torch
    folder = work / library
    done = subprocess.run([program, "convert", run_folder, str(folder) + "/", "--to", library, "--overwrite"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        report(f"{library}: refused: {done.stderr.strip()}", done.returncode == 4)
        return
    if library == "timm":
        import timm
        model = timm.create_model(f"local-dir:{folder}", pretrained=True)
        config = json.loads((folder / "config.json").read_text())["pretrained_cfg"]
    else:
        import torchvision
        from safetensors import safe_open
        from safetensors.torch import load_file
        with safe_open(folder / "model.safetensors", "pt") as file:
            name = file.metadata()["architecture"]
        tensors = load_file(folder / "model.safetensors")
        classes = [t for n, t in tensors.items() if n in ("fc.bias", "classifier.1.bias")][0].shape[0]
        model = torchvision.models.get_model(name, num_classes=classes)
        model.load_state_dict(tensors, strict=True)
        config = None
    model.eval()
    import onnxruntime
    runtime = onnxruntime.InferenceSession(str(work / "model_f32.onnx"), providers=["CPUExecutionProvider"])
    metadata = runtime.get_modelmeta().custom_metadata_map
    how, names = json.loads(metadata["preprocessing"]), json.loads(metadata["classes"])
    if config and (config["mean"] != how["mean"] or abs(config["crop_pct"] - how["crop_fraction"]) > 1e-9):
        report(f"{library}: config.json tells another preparation", False)
    size = how["image_size"]
    noise = np.random.default_rng(1).normal(size=(7, 3, size, size)).astype(np.float32)
    with torch.no_grad():
        apart = difference(runtime.run(["logits"], {"images": noise})[0], model(torch.from_numpy(noise)).numpy())
        report(f"{library}: strict load; logits beside ONNX Runtime: {apart:.1e}", apart < 1e-4)
        same = sum(int(model(torch.from_numpy(prepared(p, how)[None])).argmax() == names.index(label))
                   for p, (label, _) in zip(photos, expected))
    if photos:
        report(f"{library}: top-1 of {same} of {len(photos)} photos", same == len(photos))


# ---- BERT ----

SIZES = ("--hidden-size 128 --num-hidden-layers 2 --num-attention-heads 2 --intermediate-size 256 "
         "--max-position-embeddings 64 --seq-length 64 --precision 32 --threads 2 --micro-batch-size 16").split()
MASKED = 8


def train_pretraining(program, work, text, vocabulary, words, updates):
    records = str(work / "records.tfrecord")
    run(program, ["dataset", "bert", "--input-file", text, "--vocab-file", vocabulary, "--output-file", records,
                  "--sequence-length", "64", "--mask-tokens", str(MASKED), "--do-lower-case", "--overwrite"])
    run(program, ["pretrain", "--config", "pretrain_tiny_128_lamb", "--train-file", records,
                  "--vocab-size", words, "--max-predictions-per-seq", str(MASKED), "--logs-path", str(work / "run"),
                  "--num-train-steps", updates, "--no-static-mask"] + SIZES)


def train_classification(program, work, text, vocabulary, words, updates):
    pairs = labelled(text)
    write_tsv(work / "train.tsv", pairs[64:])
    write_tsv(work / "valid.tsv", pairs[:64])
    run(program, ["train", "--task", "text-classification", "--data-dir", str(work / "train.tsv"), "--validation-file",
                  str(work / "valid.tsv"), "--vocab-file", vocabulary, "--vocab-size", words, "--logs-path",
                  str(work / "run"), "--num-train-steps", updates, "--base-learning-rate", "1e-3"] + SIZES)


def bert_inputs(words):
    draw = np.random.default_rng(1)
    lengths = draw.integers(20, 65, size=(32, 1))
    places = np.arange(64)[None]
    return {"input_ids": draw.integers(0, words, size=(32, 64)).astype(np.int32),
            "attention_mask": (places < lengths).astype(np.int32),
            "token_type_ids": ((places >= 10) & (places < lengths)).astype(np.int32),
            "masked_lm_positions": draw.integers(0, 20, size=(32, MASKED)).astype(np.int32)}


def compare_bert(program, work, words, report):
    import torch
    import transformers
    run_folder, folder = str(work / "run"), str(work / "hf")
    run(program, ["convert", run_folder, folder, "--to", "hf", "--overwrite"])
    architecture = json.loads((work / "hf" / "config.json").read_text())["architectures"][0]
    kind = (transformers.AutoModelForSequenceClassification if "Sequence" in architecture
            else transformers.AutoModelForPreTraining)
    model, found = kind.from_pretrained(folder, trust_remote_code=True, output_loading_info=True)
    unread = [key for key in ("missing_keys", "unexpected_keys", "mismatched_keys") if found[key]]
    report(f"transformers: {architecture} loads strictly", not unread)
    inputs, plain = bert_inputs(words), None
    with torch.no_grad():
        theirs = model.eval()(**{name: torch.from_numpy(inputs[name]).long()
                                 for name in ("input_ids", "attention_mask", "token_type_ids")})
    if "Sequence" in architecture:
        wanted = [theirs.logits.numpy()]
    else:
        places = torch.from_numpy(inputs["masked_lm_positions"]).long()[..., None]
        rows = theirs.prediction_logits.gather(1, places.expand(-1, -1, theirs.prediction_logits.shape[2]))
        wanted = [rows.numpy(), theirs.seq_relationship_logits.numpy()]
    for weights, allowed in WEIGHTS:
        runtime = exported(program, run_folder, work, weights)
        given = {port.name: inputs[port.name] for port in runtime.get_inputs()}
        outputs = ["logits"] if "Sequence" in architecture else ["prediction_logits", "seq_relationship_logits"]
        whole, apart, beside = batches_agree(runtime, outputs, given, plain)
        plain = plain or whole
        from_theirs = max(difference(a, b) for a, b in zip(wanted, whole))
        report(f"onnx {weights}: batches 1 and 7 beside 32: {apart:.1e}; beside f32: {beside:.1e}; "
               f"beside transformers: {from_theirs:.1e}", max(apart, beside, from_theirs) < allowed)
    if "Sequence" in architecture:
        compare_texts(program, work, run_folder, exported(program, run_folder, work, "f32", "--probabilities"), report)


def compare_texts(program, work, run_folder, runtime, report):
    """From the texts to their classes: tokens of transformers in ONNX Runtime, and cnntrain."""
    import transformers
    tokeniser = transformers.BertTokenizer.from_pretrained(str(work / "hf"))
    texts = [line.split("\t")[0] for line in (work / "valid.tsv").read_text().splitlines()[1:]]
    own = str(work / "texts.jsonl")
    run(program, ["inference", "--restore-path", run_folder, "--data-dir", str(work / "valid.tsv"),
                  "--predictions", own])
    answers = [json.loads(line)["classes"][0] for line in pathlib.Path(own).read_text().splitlines()]
    names = json.loads(runtime.get_modelmeta().custom_metadata_map["classes"])
    encoded = tokeniser(texts, padding="max_length", truncation=True, max_length=64, return_tensors="np")
    given = {port.name: encoded[port.name].astype(np.int32) for port in runtime.get_inputs()}
    classes = [names[i] for i in runtime.run(["probabilities"], given)[0].argmax(1)]
    same = sum(a == b for a, b in zip(classes, answers))
    report(f"onnx f32: classes of {same} of {len(texts)} texts", same == len(texts) == len(answers))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="build/cnntrain")
    parser.add_argument("photos", help="photos in class folders, as for cnntrain train --data-dir")
    parser.add_argument("all", help="folder of photos to classify")
    parser.add_argument("work", help="folder for runs and exports")
    parser.add_argument("--networks", nargs="*", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--updates", default="50", help="length of the trainings")
    parser.add_argument("--image-size", default="64")
    parser.add_argument("--tensorflow", action="store_true", help="compare TensorFlow's checkpoints, too")
    parser.add_argument("--text", help="for BERT: text as WikiText's; without it, image networks only")
    parser.add_argument("--vocab-file", help="for BERT")
    arguments = parser.parse_args()
    failed = []

    def reporter(name):
        def report(text, good):
            print(f"{name}: {text}{'' if good else '  <-- WRONG'}", flush=True)
            if not good:
                failed.append(f"{name}: {text}")
        return report

    for name in arguments.networks:
        work = pathlib.Path(arguments.work) / name
        work.mkdir(parents=True, exist_ok=True)
        run_folder = str(work / "run")
        if not (work / "run" / "arguments.json").exists():
            run(arguments.program,
                ["train", "--data-dir", arguments.photos, "--logs-path", run_folder, "--iterations", arguments.updates,
                 "--micro-batch-size", "8", "--image-size", arguments.image_size, "--interpolation", "bilinear",
                 "--no-validation", "--abs-learning-rate", "0.02"] + NETWORKS[name].split())
        photos = photos_in(arguments.all)
        answers = predicted(arguments.program, run_folder, arguments.all, str(work / "predictions.jsonl"))
        expected = [answers[next(n for n in (str(p), p.name, str(p.relative_to(arguments.all))) if n in answers)]
                    for p in photos]

        report = reporter(name)
        compare_onnx(arguments.program, run_folder, work, photos, expected, report)
        for library in ("torchvision", "timm"):
            compare_library(arguments.program, run_folder, work, library, photos, expected, report)
        if arguments.tensorflow:
            compare_tensorflow(arguments.program, run_folder, work, report)
    for name, train in [("pretraining", train_pretraining), ("classification", train_classification)]:
        if not arguments.text:
            break
        work = pathlib.Path(arguments.work) / f"bert-{name}"
        work.mkdir(parents=True, exist_ok=True)
        words = sum(1 for _ in open(arguments.vocab_file, encoding="utf-8"))
        if not (work / "run" / "arguments.json").exists():
            train(arguments.program, work, arguments.text, arguments.vocab_file, str(words), arguments.updates)
        compare_bert(arguments.program, work, words, reporter(f"bert-{name}"))
        if arguments.tensorflow:
            compare_tensorflow(arguments.program, str(work / "run"), work, reporter(f"bert-{name}"))
    print("all agree" if not failed else "\n".join(["these do not:"] + failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
