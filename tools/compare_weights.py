#!/usr/bin/env python3
"""Other programs' weights and photos, through them and through cnntrain: are the logits the same?

Networks of torchvision, timm and Keras are built with random weights and statistics and saved by their own programs.
Each classifies the same photos there and by `cnntrain inference --restore-path FILE`. The photos are JPEG, PNG, WebP,
and JPEG turned by EXIF, prepared by PIL and torchvision's transforms on the other side; Keras's are of the network's
size. Printed is the largest difference of logits less their mean, beside their spread.

    python3 -m venv venv && venv/bin/pip install torch torchvision timm safetensors pillow keras tensorflow-cpu
    venv/bin/python tools/compare_weights.py build/cnntrain PHOTOS [--sources torchvision timm keras]

PHOTOS is a folder of JPEG files; eight of them are used.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
from PIL import Image, ImageOps

CLASSES, PHOTOS, TOLERANCE = 10, 8, 1e-3
TORCHVISION = ["resnet18", "resnet50", "resnext50_32x4d", "efficientnet_b0"]
TIMM = ["resnet26", "efficientnet_b0", "tf_efficientnet_b0"]
KERAS = ["ResNet50", "ResNet101", "EfficientNetB0", "EfficientNetB1"]
TURNED = 6  # EXIF orientation: turn clockwise by a quarter to see it upright


def write_photos(source, folder):
    """Photo 0, 4 as JPEG, 1, 5 as PNG, 2, 6 as WebP, 3, 7 as JPEG that EXIF turns."""
    for index, path in enumerate(sorted(source.rglob("*.[jJ][pP]*[gG]"))[:PHOTOS]):
        photo = Image.open(path).convert("RGB")
        name = folder / f"photo{index}"
        if index % 4 == 0:
            photo.save(name.with_suffix(".jpg"), quality=92)
        elif index % 4 == 1:
            photo.save(name.with_suffix(".png"))
        elif index % 4 == 2:
            photo.save(name.with_suffix(".webp"), quality=92)
        else:
            exif = Image.Exif()
            exif[0x0112] = TURNED
            photo.save(name.with_suffix(".jpg"), quality=92, exif=exif)


def opened(path):
    return ImageOps.exif_transpose(Image.open(path)).convert("RGB")


def own_logits(program, weights, folder, options, classes=CLASSES):
    """Logits less their mean, of each photo: logarithms of the printed probabilities."""
    predictions = folder.parent / "predictions.jsonl"
    predictions.unlink(missing_ok=True)
    words = [program, "inference", "--restore-path", weights, "--data-dir", folder, "--predictions", predictions,
             "--top-classes", classes, "--precision", "32.32", *options]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}\nended with {done.returncode}:\n{done.stderr[-2000:]}")
    logits = {}
    for line in predictions.read_text().splitlines():
        row = json.loads(line)
        values = np.zeros(classes)
        values[row["classes"]] = np.log(row["probabilities"])
        logits[row["image"]] = values - values.mean()
    return logits


def compare(name, own, peers):
    difference = max(np.abs(own[photo] - (logits - logits.mean())).max() for photo, logits in peers.items())
    spread = np.concatenate([logits - logits.mean() for logits in peers.values()]).std()
    print(f"| {name} | {len(peers)} | {difference:.1e} | {spread:.2f} |", flush=True)
    return difference <= TOLERANCE


def randomise(model, torch):
    """Statistics that differ from 0 and 1, and a last layer that tells photos apart."""
    torch.manual_seed(1)
    for name, buffer in model.named_buffers():
        if name.endswith("running_mean"):
            buffer.normal_(0, 0.1)
        elif name.endswith("running_var"):
            buffer.uniform_(0.5, 1.5)
    return model.eval()


def torch_logits(model, transform, folder, torch):
    with torch.no_grad():
        return {path.name: model(transform(opened(path))[None])[0].double().numpy() for path in folder.iterdir()}


def torchvision_networks(args, folder, work):
    import torch
    import torchvision
    from torchvision import transforms
    prepare = transforms.Compose([
        transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    for name in TORCHVISION:
        model = randomise(getattr(torchvision.models, name)(num_classes=CLASSES), torch)
        weights = work / f"{name}.pth"
        torch.save(model.state_dict(), weights)
        yield (f"torchvision {name}, .pth", own_logits(args.program, weights, folder, []),
               torch_logits(model, prepare, folder, torch))


def timm_networks(args, folder, work):
    import timm
    import torch
    from safetensors.torch import save_file
    for name in TIMM:
        model = randomise(timm.create_model(name, num_classes=CLASSES), torch)
        home = work / name
        home.mkdir()
        save_file(model.state_dict(), home / "model.safetensors")
        config = {key: value for key, value in model.pretrained_cfg.items()
                  if isinstance(value, (int, float, str, list, tuple))}
        (home / "config.json").write_text(json.dumps(
            {"architecture": name, "num_classes": CLASSES, "pretrained_cfg": config}))
        prepare = timm.data.create_transform(**timm.data.resolve_data_config(model=model), is_training=False)
        yield (f"timm {name}, folder", own_logits(args.program, home, folder, []),
               torch_logits(model, prepare, folder, torch))


def keras_networks(args, folder, work):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    keras.utils.set_random_seed(1)
    generator = np.random.default_rng(1)
    for name in KERAS:
        kind = keras.applications.resnet if name.startswith("ResNet") else keras.applications.efficientnet
        model = getattr(kind, name)(weights=None, classes=CLASSES, classifier_activation=None)
        for layer in model.layers:
            if isinstance(layer, keras.layers.BatchNormalization):
                layer.moving_mean.assign(generator.normal(0, 0.1, layer.moving_mean.shape))
                layer.moving_variance.assign(generator.uniform(0.5, 1.5, layer.moving_variance.shape))
        side = model.input_shape[1]
        sized = work / f"photos_{name}"
        sized.mkdir()
        for path in folder.iterdir():
            opened(path).resize((side, side)).save(sized / f"{path.stem}.png")
        peers = {}
        for path in sized.iterdir():
            pixels = kind.preprocess_input(np.asarray(opened(path), np.float32)[None].copy())
            peers[path.name] = np.asarray(model(pixels, training=False))[0].astype(np.float64)
        for ending in ("keras", "h5", "weights.h5"):
            weights = work / f"{name}.{ending}"
            model.save_weights(weights) if ending == "weights.h5" else model.save(weights)
            yield (f"Keras {name}, .{ending}",
                   own_logits(args.program, weights, sized, ["--crop-fraction", 1]), peers)


SOURCES = {"torchvision": torchvision_networks, "timm": timm_networks, "keras": keras_networks}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=list(SOURCES))
    args = parser.parse_args()
    print("| network, file | photos | difference of logits | their spread |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        folder = work / "photos"
        folder.mkdir()
        write_photos(args.photos, folder)
        equal = [compare(*network) for source in args.sources for network in SOURCES[source](args, folder, work)]
    if not all(equal):
        raise SystemExit(f"differences above {TOLERANCE}")


if __name__ == "__main__":
    main()
