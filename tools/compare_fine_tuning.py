#!/usr/bin/env python3
"""What a trained network is worth for few photos of other classes, and wrong labels that `dataset suspects` finds.

usage: compare_fine_tuning.py CNNTRAIN --cifar DIR --work DIR [--parts ways labels] [--ways head full nothing]
                              [--photos 50 500] [--seeds 1 2 3] [--epochs 8] [--threads 1] [--options '...']

Needs numpy and Pillow (Debian: python3-numpy, python3-pil). DIR of --cifar has CIFAR-10's binary files; photos are
written as PNG files in class folders below WORK. Runs that are there are not repeated. First, a ResNet-20 is trained
on the training photos of the classes 0 to 4, for --epochs.

  ways    Of the classes 5 to 9, --photos of each are trained on and a fifth as many validated, chosen by the seed:
            head     --head-only, from the weights of the first network
            first    --head-first, from them
            full     all weights, from them
            nothing  all weights, from random ones, for as many epochs
          What the line leaves open is cnntrain's choice. Accuracies are those of all 5000 test photos of the classes
          5 to 9, seconds are the training's CPU time and elapsed time.
  labels  For each seed, every twentieth of the 5000 test photos of the classes 0 to 4 gets a wrong label; the last
          layer is solved for them, and `dataset suspects` lists them. Prints the share of the wrong labels in the
          first 5, 10 and 20 % of the list by score, and by neighbours alone.

--options are added to the lines of full and nothing; --name tells these runs from others.
"""
import argparse
import csv
import os
import pathlib
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np
from PIL import Image

NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
FIRST, SECOND = range(5), range(5, 10)
WRONG = 20  # one label of so many is wrong
SIZE = ["--model-size", "20", "--image-size", "32"]


def images(files):
    """(label, pixels) of each record."""
    for path in files:
        records = np.fromfile(path, np.uint8).reshape(-1, 3073)
        for record in records:
            yield int(record[0]), record[1:].reshape(3, 32, 32).transpose(1, 2, 0)


def write_all_photos(cifar, work):
    """all/<split>/<class>/<number>.png, from which folders are made by links."""
    top = work / "all"
    if top.exists():
        return top
    (found,) = {path.parent for path in cifar.rglob("test_batch.bin")}
    new = work / "all.new"
    for split, files in (("train", sorted(found.glob("data_batch_*.bin"))), ("test", [found / "test_batch.bin"])):
        for name in NAMES:
            (new / split / name).mkdir(parents=True, exist_ok=True)
        for number, (label, pixels) in enumerate(images(files)):
            Image.fromarray(np.ascontiguousarray(pixels)).save(
                new / split / NAMES[label] / f"{number:05d}.png", compress_level=1)
    new.rename(top)
    return top


def chosen(top, split, label, count, rng=None):
    """The paths of `count` photos of a class; None: of all."""
    paths = sorted((top / split / NAMES[label]).iterdir())
    return paths if count is None else rng.sample(paths, count)


def link(paths, folder):
    folder.mkdir(parents=True)
    for path in paths:
        os.link(path, folder / path.name)


def folder_of(work, name, splits):
    """A data folder with splits {"train": {class name: paths}}, made once."""
    folder = work / name
    if folder.exists():
        return folder
    new = work / f"{name}.{os.getpid()}"
    for split, classes in splits.items():
        for class_name, paths in classes.items():
            link(paths, new / split / class_name)
    try:
        new.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(new)
    return folder


def newest(run):
    """The run's newest checkpoint."""
    return max(run.glob("ckpt-*[0-9].safetensors"), key=lambda path: int(path.stem.split("-")[1]))


class Runner:
    def __init__(self, arguments):
        self.program = str(arguments.cnntrain.resolve())
        self.threads = ["--threads", str(arguments.threads), "--input-threads", "1", "--no-tensorboard"]

    def call(self, words, log):
        """CPU and elapsed seconds of a command."""
        begin = time.monotonic()
        with open(log, "w", encoding="utf-8") as out:
            child = subprocess.Popen([self.program, *map(str, words)], stdout=out, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"{shlex.join(map(str, words))}: ended with {child.returncode}, see {log}")
        return usage.ru_utime + usage.ru_stime, time.monotonic() - begin

    def train(self, run, data, words):
        """Seconds as call() has them, of a run that may be there already."""
        log, times = run.parent / (run.name + ".log"), run.parent / (run.name + ".seconds")
        if not times.exists():
            words = ["train", "--data-dir", data, *words, *self.threads, "--overwrite", "--logs-path", run]
            cpu, elapsed = self.call(words, log)
            times.write_text(f"{cpu} {elapsed}\n", encoding="utf-8")
        return tuple(map(float, times.read_text(encoding="utf-8").split()))

    def accuracy(self, run, data):
        """Of the run's newest checkpoint, in percent."""
        out = run.parent / (run.name + ".test")
        if not out.exists():
            words = ["inference", "--data-dir", data, "--restore-path", newest(run), *self.threads, "--predictions",
                     f"{out}.csv", "--no-logs"]
            self.call(words, run.parent / (run.name + ".test.log"))
            with open(f"{out}.csv", encoding="utf-8") as table:
                rows = list(csv.DictReader(table))
            right = sum(pathlib.Path(row["image"]).parent.name == row["class_1"] for row in rows)
            out.write_text(f"{100 * right / len(rows)}\n", encoding="utf-8")
        return float(out.read_text(encoding="utf-8"))


def text_of(values, digits):
    mean = statistics.mean(values)
    spread = statistics.stdev(values) if len(values) > 1 else 0
    return f"{mean:6.{digits}f} +- {spread:.{digits}f}"


def first_network(arguments, runner, top):
    """The trained network of the first classes."""
    rng = random.Random(0)
    data = folder_of(arguments.work, "source", {
        "train": {NAMES[c]: chosen(top, "train", c, None) for c in FIRST},
        "validation": {NAMES[c]: chosen(top, "test", c, 200, rng) for c in FIRST}})
    run = arguments.work / "source_run"
    runner.train(run, data, [*SIZE, "--epochs", arguments.epochs, "--seed", 1])
    return newest(run)


def compare_ways(arguments, runner, top, source):
    work = arguments.work
    test = folder_of(work, "others", {"test": {NAMES[c]: chosen(top, "test", c, None) for c in SECOND}}) / "test"
    ways = {"head": ["--init-path", source, "--head-only"], "first": ["--init-path", source, "--head-first"],
            "full": ["--init-path", source], "nothing": SIZE}
    print("photos a class, way: test accuracy in percent; seconds of CPU, elapsed (mean +- deviation over seeds)")
    for photos in arguments.photos:
        for way in arguments.ways:
            results = [one_way(arguments, runner, top, photos, way, ways[way], seed, test) for seed in arguments.seeds]
            accuracy, cpu, elapsed = zip(*results)
            each = ", ".join(f"{value:.1f}" for value in accuracy)
            print(f"{photos:5d} {way + arguments.name:20s} {text_of(accuracy, 1)} ({each});  {text_of(cpu, 1)},  "
                  f"{text_of(elapsed, 1)}", flush=True)


def one_way(arguments, runner, top, photos, way, words, seed, test):
    """Accuracy, CPU and elapsed seconds."""
    rng = random.Random(seed)
    picked = {c: chosen(top, "train", c, photos + photos // 5, rng) for c in SECOND}
    data = folder_of(arguments.work, f"few_{photos}_{seed}", {
        "train": {NAMES[c]: paths[:photos] for c, paths in picked.items()},
        "validation": {NAMES[c]: paths[photos:] for c, paths in picked.items()}})
    trains = way in ("full", "first", "nothing")
    if way == "nothing":  # as many epochs as from weights
        words = [*words, "--epochs", 20 if photos * len(SECOND) <= 1000 else 10]
    if trains:
        words = [*words, *shlex.split(arguments.options)]
    run = arguments.work / f"{way}{arguments.name}_{photos}_{seed}"
    seconds = runner.train(run, data, [*words, "--seed", seed])
    return runner.accuracy(run, test), *seconds


def mislabelled(top, seed):
    """{class name: paths} of the first classes' test photos, and the names of those in wrong folders."""
    rng = random.Random(seed)
    paths = [(path, c) for c in FIRST for path in chosen(top, "test", c, None)]
    wrong = set(rng.sample(range(len(paths)), len(paths) // WRONG))
    classes = {NAMES[c]: [] for c in FIRST}
    for number, (path, label) in enumerate(paths):
        given = rng.choice([c for c in FIRST if c != label]) if number in wrong else label
        classes[NAMES[given]].append(path)
    return classes, {paths[number][0].name for number in wrong}


def find_labels(arguments, runner, top, source):
    work = arguments.work
    print("share of the wrong labels in the first 5, 10 and 20 % of the list; by the share of the neighbours")
    for seed in arguments.seeds:
        classes, wrong = mislabelled(top, seed)
        data = folder_of(work, f"labels_{seed}", {"train": classes})
        run = work / f"labels_run_{seed}"
        words = ["--init-path", source, "--head-only", "--no-validation", "--seed", seed]
        runner.train(run, data / "train", [*words, "--validation-fraction", "0"])
        table = work / f"labels_run_{seed}.csv"
        runner.call(["dataset", "suspects", run, "--csv", table, "--overwrite", "--threads", arguments.threads],
                    work / f"labels_run_{seed}.suspects.log")
        with open(table, encoding="utf-8") as file:
            rows = [(pathlib.Path(row["file"]).name in wrong, float(row["score"]), float(row["neighbours_share"]))
                    for row in csv.DictReader(file)]
        shares = []
        for key in (lambda row: -row[1], lambda row: row[2]):
            order = sorted(rows, key=key)
            shares.append([sum(row[0] for row in order[:len(rows) * part // 100]) / len(wrong) for part in (5, 10, 20)])
        texts = ["  ".join(f"{100 * share:5.1f} %" for share in line) for line in shares]
        print(f"seed {seed}: {texts[0]};  {texts[1]}", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("cnntrain", type=pathlib.Path)
    parser.add_argument("--cifar", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--parts", nargs="+", choices=("ways", "labels"), default=("ways", "labels"))
    parser.add_argument("--ways", nargs="+", choices=("head", "first", "full", "nothing"),
                        default=("head", "full", "nothing"))
    parser.add_argument("--photos", nargs="+", type=int, default=(50, 500))
    parser.add_argument("--seeds", nargs="+", type=int, default=(1, 2, 3))
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--options", default="")
    parser.add_argument("--name", default="")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    runner = Runner(arguments)
    top = write_all_photos(arguments.cifar, arguments.work)
    source = first_network(arguments, runner, top)
    if "ways" in arguments.parts:
        compare_ways(arguments, runner, top, source)
    if "labels" in arguments.parts:
        find_labels(arguments, runner, top, source)


main()
