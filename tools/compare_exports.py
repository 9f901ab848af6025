#!/usr/bin/env python3
"""Exports networks and compares the files with programs that share nothing with cnntrain.

Needs onnx, onnxruntime, timm, torchvision, transformers, safetensors, torch, Pillow, numpy.

Every case trains a small run on the photos, converts it, and compares:
- ONNX: onnx.checker, and ONNX Runtime in batches of 1, 7 and 32 on random input, beside the predictions of
  `cnntrain inference` on every photo, made of the file's bytes by what the metadata says;
- torchvision and timm: a strict load, and the same from the photo's bytes to its class.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np
from PIL import Image

NETWORKS = {
    "resnet18": "--model resnet --model-size 18 --batch-norm",
    "resnet50": "--model resnet --model-size 50 --batch-norm",
    "resnet14-group": "--model resnet --model-size 14 --group-norm --groups 8",
    "resnet18-symmetric": "--model resnet --model-size 18 --batch-norm --padding symmetric",
    "resnet50-symmetric": "--model resnet --model-size 50 --batch-norm --padding symmetric",
    "resnext14": "--model resnext --model-size 14 --batch-norm",
    "resnext50-symmetric": "--model resnext --model-size 50 --batch-norm --padding symmetric",
    "efficientnet-b0": "--model efficientnet --model-size B0 --batch-norm",
    "efficientnet-b0-group": "--model efficientnet --model-size B0 --group-norm --groups 4",
    "efficientnet-b0-symmetric":
        "--model efficientnet --model-size B0 --batch-norm --padding symmetric --norm-epsilon 1e-5",
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


def prepared(path, how):
    """The network's input of a photo, as the metadata of an export describes it; Pillow's antialiased resizes."""
    image = Image.open(path).convert("RGB")
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


def compare_onnx(program, run_folder, work, photos, expected, report):
    plain = None
    for weights, allowed in [("f32", 1e-4), ("f16", 1e-2), ("bf16", 5e-2)]:
        path = str(work / f"model_{weights}.onnx")
        run(program, ["convert", run_folder, path, "--to", "onnx", "--weights", weights, "--probabilities",
                      "--overwrite"])
        runtime = session(path)
        metadata = runtime.get_modelmeta().custom_metadata_map
        how, names = json.loads(metadata["preprocessing"]), json.loads(metadata["classes"])
        size = how["image_size"]
        noise = np.random.default_rng(1).normal(size=(32, 3, size, size)).astype(np.float32)
        name = runtime.get_inputs()[0].name
        whole = runtime.run(["logits"], {name: noise})[0]
        apart = max(difference(whole[:n], runtime.run(["logits"], {name: noise[:n]})[0]) for n in (1, 7))
        plain = whole if plain is None else plain
        report(f"onnx {weights}: batches 1 and 7 beside 32: {apart:.1e}; beside f32: {difference(plain, whole):.1e}",
               apart < allowed)
        if not photos:
            continue
        same, most = 0, 0.0
        for path_of, (name_of_class, probability) in zip(photos, expected):
            index = names.index(name_of_class)
            answer = runtime.run(["probabilities"], {name: prepared(path_of, how)[None]})[0][0]
            same += int(answer.argmax() == index)
            most = max(most, abs(float(answer[index]) - probability))
        report(f"onnx {weights}: top-1 of {same} of {len(photos)} photos; probabilities differ by {most:.1e}",
               same == len(photos) if weights == "f32" else same >= 0.97 * len(photos))


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="build/cnntrain")
    parser.add_argument("photos", help="photos in class folders, as for cnntrain train --data-dir")
    parser.add_argument("all", help="folder of photos to classify")
    parser.add_argument("work", help="folder for runs and exports")
    parser.add_argument("--networks", nargs="*", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--updates", default="50", help="length of the trainings")
    parser.add_argument("--image-size", default="64")
    arguments = parser.parse_args()
    failed = []
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

        def report(text, good, name=name):
            print(f"{name}: {text}{'' if good else '  <-- WRONG'}", flush=True)
            if not good:
                failed.append(f"{name}: {text}")

        compare_onnx(arguments.program, run_folder, work, photos, expected, report)
        for library in ("torchvision", "timm"):
            compare_library(arguments.program, run_folder, work, library, photos, expected, report)
    print("all agree" if not failed else "\n".join(["these do not:"] + failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
