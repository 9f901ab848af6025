"""Errors of batch norms' statistics, here and in PyTorch, on photos with flat areas.

These are the hard case: equal addends all round in the same direction. A ResNet-50 takes one step in float32 with
--BN-decay 0.001, so that its moving variances are those of the batch. torchvision's network with the same weights and
pixels computes them in float32 and in float64. Printed are relative errors of a channel's variance against float64: of
the first norm, of the worst one, and of the median of the 53 norms.
"""
from common import Package, head, row, run as run_program

NEEDS = ["numpy", "PIL", "torch", "torchvision", "safetensors"]
np, _, torch, torchvision, safetensors = map(Package, NEEDS)
Image = Package("PIL.Image")
DECAY = 0.001


def add_options(parser):
    parser.add_argument("--side", type=int, default=224, help="of the photos")


def photo(kind, side, rng):
    """White with an object in a ninth of it, saturated areas, or noise of all sizes as an ordinary photo has."""
    coarse = rng.integers(0, 256, (9, 9, 3), dtype=np.uint8)
    scene = np.asarray(Image.fromarray(coarse).resize((side, side), Image.BICUBIC), dtype=np.float64)
    scene = np.clip(scene + rng.normal(0, 12, scene.shape), 0, 255)
    if kind == "white":
        flat, third = np.full(scene.shape, 255.0), slice(side // 3, 2 * (side // 3))
        flat[third, third] = scene[third, third]
        scene = flat
    elif kind == "saturated":
        scene = np.clip((scene - 128) * 6 + 128, 0, 255)
    return scene.astype(np.uint8)


def write_photos(folder, kinds, side, seed):
    """Two classes in turn. A single photo is in both, because training needs two classes."""
    rng = np.random.default_rng(seed)
    for number in range(max(2, len(kinds))):
        pixels = Image.fromarray(photo(kinds[number], side, rng)) if number < len(kinds) else pixels
        for split in ("train", "validation"):
            (folder / split / f"class{number % 2}").mkdir(parents=True, exist_ok=True)
            pixels.save(folder / split / f"class{number % 2}" / f"{number:03}.png")
    return sorted((folder / "train").rglob("*.png"))[:len(kinds)]


def variances(weights, images, dtype):
    """The unbiased variance of each norm's input over the batch, as both programs keep it."""
    model = torchvision.models.resnet50(num_classes=2)
    model.load_state_dict(weights)
    model.to(dtype).train()
    norms = {name: module for name, module in model.named_modules() if isinstance(module, torch.nn.BatchNorm2d)}
    for module in norms.values():
        module.momentum = 1.0
    with torch.no_grad():
        model(images.to(dtype))
    return {name: module.running_var.double() for name, module in norms.items()}


def errors(found, exact):
    """The greatest error of each norm: the first, the worst, the median."""
    values = [float(((found[name] - exact[name]).abs() / exact[name].abs().clamp_min(1e-12)).max()) for name in exact]
    return [f"{value:.1e}" for value in (values[0], max(values), sorted(values)[len(values) // 2])]


def compare(args, title, kinds, seed):
    photos = write_photos(args.work / title, kinds, args.side, seed)
    place = args.work / f"{title}-run"
    run_program([args.cnntrain, "train", "--data-dir", args.work / title, "--model-size", 50, "--image-size", args.side,
                 "--micro-batch-size", len(kinds), "--threads", args.threads, "--logs-path", place, "--BN-decay", DECAY,
                 *"--precision 32.32 --iterations 1 --padding symmetric --optimiser SGD --abs-learning-rate 1e-30 "
                 "--weight-decay 0 --train-with-valid-preprocessing --crop-fraction 1 --normalise-input "
                 "--no-validation --keep-ckpts 0 --seed 5".split()])
    last = max(place.glob("ckpt-[0-9]*.safetensors"), key=lambda path: int(path.stem[5:]))
    run_program([args.cnntrain, "convert", last, place / "torchvision", "--to", "torchvision"])
    weights = safetensors.torch.load_file(place / "torchvision/model.safetensors")
    pixels = np.stack([np.asarray(Image.open(path), dtype=np.float64) / 255 for path in photos])
    pixels = (pixels - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    images = torch.tensor(pixels).permute(0, 3, 1, 2)
    exact = variances(weights, images, torch.float64)
    # A thousandth of the first value, 1, stays.
    ours = {name: (weights[f"{name}.running_var"].double() - DECAY) / (1 - DECAY) for name in exact}
    row(title, *errors(ours, exact), *errors(variances(weights, images, torch.float32), exact))


def run(args):
    torch.set_num_threads(args.threads)
    head("photos", "first norm, here", "worst", "median", "first norm, PyTorch f32", "worst", "median")
    for kind in ("white", "saturated", "ordinary"):
        compare(args, f"one-{kind}", [kind], 3)
    compare(args, "sixteen-mixed", ["ordinary", "white", "saturated", "ordinary"] * 4, 4)
    return 0
