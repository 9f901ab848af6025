"""Weights of torchvision, timm and Keras, photos that these prepare: the same logits here.

Networks with random weights and statistics are saved by their own programs. They classify JPEG, PNG and WebP photos and
one that EXIF turns, which PIL and torchvision's or timm's transforms prepare, and `cnntrain inference --restore-path
FILE` does; Keras's photos have the network's size. Printed is the largest difference of logits less their mean, and
their spread. timm's networks also take photos that are squashed or padded. Keras is left out if it is not installed.
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
CLASSES, TOLERANCE = list(range(10)), 1e-3
TORCHVISION = ["resnet18", "resnet50", "resnext50_32x4d", "efficientnet_b0"]
TIMM = ["resnet26", "efficientnet_b0", "tf_efficientnet_b0"]
MODES = {"center": "crop", "squash": "squash", "border": "pad"}  # timm's, cnntrain's
KERAS = ["ResNet50", "ResNet101", "EfficientNetB0", "EfficientNetB1"]


def add_options(parser):
    parser.add_argument("photos", nargs="*", type=pathlib.Path, metavar="PHOTO", help="default: made-up ones")
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=list(SOURCES))


def write_photos(args, folder):
    folder.mkdir(exist_ok=True)
    photos = [Image.open(path).convert("RGB") for path in args.photos] or [made_up(400, 300, i) for i in range(8)]
    for index, photo in enumerate(photos):
        exif = Image.Exif()
        exif[0x0112] = 6 if index % 4 == 3 else 1  # turned by a quarter
        photo.save(folder / f"photo{index}.{('jpg', 'png', 'webp', 'jpg')[index % 4]}", quality=92, exif=exif)


def randomised(model):
    """Statistics that differ from 0 and 1."""
    torch.manual_seed(1)
    for name, buffer in model.named_buffers():
        if name.endswith("running_mean"):
            buffer.normal_(0, 0.1)
        elif name.endswith("running_var"):
            buffer.uniform_(0.5, 1.5)
    return model.eval()


def torch_logits(model, transform, folder):
    with torch.no_grad():
        return {path.name: model(transform(pixels_of(path))[None])[0].double().numpy() for path in folder.iterdir()}


def torchvision_networks(args, folder):
    steps = torchvision.transforms
    prepare = steps.Compose([steps.Resize(256), steps.CenterCrop(224), steps.ToTensor(),
                             steps.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    for name in TORCHVISION:
        model, weights = randomised(torchvision.models.get_model(name, num_classes=10)), args.work / f"{name}.pth"
        torch.save(model.state_dict(), weights)
        yield f"torchvision {name}", weights, folder, [], torch_logits(model, prepare, folder)


def timm_networks(args, folder):
    for name in TIMM:
        model, home = randomised(timm.create_model(name, num_classes=10)), args.work / name
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
        kind = keras.applications.resnet if name.startswith("ResNet") else keras.applications.efficientnet
        model = getattr(kind, name)(weights=None, classes=10, classifier_activation=None)
        for layer in model.layers:
            if isinstance(layer, keras.layers.BatchNormalization):
                layer.moving_mean.assign(generator.normal(0, 0.1, layer.moving_mean.shape))
                layer.moving_variance.assign(generator.uniform(0.5, 1.5, layer.moving_variance.shape))
        side, sized, peers = model.input_shape[1], args.work / f"photos_{name}", {}
        sized.mkdir(exist_ok=True)
        for path in folder.iterdir():
            photo = pixels_of(path).resize((side, side))
            photo.save(sized / f"{path.stem}.png")
            pixels = kind.preprocess_input(np.asarray(photo, np.float32)[None].copy())
            peers[f"{path.stem}.png"] = np.asarray(model(pixels, training=False))[0].astype(np.float64)
        for ending in ("keras", "h5", "weights.h5"):
            weights = args.work / f"{name}.{ending}"
            (model.save_weights if ending == "weights.h5" else model.save)(weights)
            yield f"Keras {name}, .{ending}", weights, sized, ["--crop-fraction", 1], peers


SOURCES = {"torchvision": torchvision_networks, "timm": timm_networks, "keras": keras_networks}


def run(args):
    write_photos(args, args.work / "photos")
    for source in args.sources:
        for name, weights, folder, options, peers in SOURCES[source](args, args.work / "photos"):
            own = own_logits(args, weights, folder, CLASSES, ["--precision", "32.32", *options])
            apart = max(np.abs(own[photo] - centred(logits)).max() for photo, logits in peers.items())
            spread = np.concatenate([centred(logits) for logits in peers.values()]).std()
            check(f"{name:32} logits differ by {apart:.1e}, spread {spread:.2f}", apart <= TOLERANCE)
    return result()
