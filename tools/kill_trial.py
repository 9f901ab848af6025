#!/usr/bin/env python3
"""Kills train (plain and pipelined), restore, average, dataset, text and reshard with SIGKILL at random moments, and
looks for what was lost or mixed.

usage: kill_trial.py CNNTRAIN [--kills 300] [--seed 0] [--work FOLDER] [--only KIND] [-- OPTIONS OF TRAIN ...]

Kinds: train, pipelined (train with stages, replicas and lanes), restore, average, dataset (photos), text (BERT's),
reshard. With options of a training of your own, on whose data it runs, train is the only kind:
  kill_trial.py build/cnntrain --kills 3 -- --data-dir build/demo/cifar-10 --model-size 8 --epochs 3 --seed 5
In half of the trials two processes are started at once on the same folder: one may do its work, the other must be
refused with the name of the first. After each kill every finished file must be byte for byte that of an undisturbed
run, and the same command (or `restore`) must then lead to exactly its results: rows, checkpoints, averages, shards. A
trial in which the processes ended before the kill is checked like the others, and not counted as a kill. Ends with 1 at
the first fault; the folder of that trial is then left for inspection.
"""
import argparse
import collections
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

REFUSALS = ("another process is writing there", "holds an earlier run")
TIMEOUT_S = 300
TRAINING_COLUMNS, VALIDATION_COLUMNS = 8, 5  # those that do not depend on time


class Fault(Exception):
    pass


def png(pixels, side):
    """An RGB image file of `side` x `side` pixels."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + pixels[3 * side * y:3 * side * (y + 1)] for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write_photos(folder, images=240, classes=4, side=48):
    source = random.Random(1)
    for i in range(images):
        place = folder / "train" / f"class{i % classes}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i}.png").write_bytes(png(source.randbytes(3 * side * side), side))


def write_text(folder, sentences=6000):
    """Sentences of made-up words, and a vocabulary that has most of their syllables."""
    source = random.Random(2)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    words = ["".join(source.choices(syllables, k=source.randint(1, 4))) for _ in range(500)]
    lines = [" ".join(source.choices(words, k=source.randint(3, 20))) + "." + "\n" * (i % 40 == 0)
             for i in range(sentences)]
    (folder / "text.txt").write_text("\n".join(lines) + "\n")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *syllables[:50], *["##" + s for s in syllables]]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")


def columns(path, count):
    if not path.exists():
        raise Fault(f"{path} is missing")
    rows = path.read_bytes().decode().split("\r\n")
    if rows.pop() != "":
        raise Fault(f"{path} ends with half a row")
    return [row.split(",")[:count] for row in rows]


def expect_equal(found, wanted, what):
    if found != wanted:
        raise Fault(f"{what} differs from that of an undisturbed run:\n  {found}\n  {wanted}")


def expect_same_files(folder, reference, pattern, all_of_them):
    """Files of `folder` have the bytes of the reference's; with `all_of_them`, both have the same files."""
    found = {path.relative_to(folder) for path in folder.glob(pattern)}
    wanted = {path.relative_to(reference) for path in reference.glob(pattern)}
    if all_of_them:
        expect_equal(sorted(map(str, found)), sorted(map(str, wanted)), f"the list of {pattern}")
    for name in found:
        if name not in wanted:
            raise Fault(f"{folder / name}: an undisturbed run has no such file")
        if (folder / name).read_bytes() != (reference / name).read_bytes():
            raise Fault(f"{folder / name}: other bytes than after an undisturbed run")


class Command:
    """One of the commands on trial. `line` is what is started and killed, `whole` what an undisturbed run leaves."""
    name = ""

    def __init__(self, bench):
        self.bench = bench
        self.whole = bench.work / f"whole_{self.name}"
        self.prepare(self.whole)
        begin = time.perf_counter()
        bench.run(self.line(self.whole))
        self.seconds = time.perf_counter() - begin

    def prepare(self, folder):
        """What stands there before the command starts."""

    def check_after_kill(self, folder):
        pass

    def finish(self, folder):
        self.bench.run(self.line(folder))

    def check(self, folder):
        pass


class Train(Command):
    name = "train"

    def line(self, folder):
        return self.bench.train + ["--logs-path", str(folder)]

    def check_after_kill(self, folder):
        expect_same_files(folder, self.whole, "ckpt-*.safetensors", False)
        expect_same_files(folder, self.whole, "ckpt/*.safetensors", False)

    def finish(self, folder):
        nothing_saved = self.bench.run(["restore", "--restore-path", str(folder)], allowed=(0, 1)) == 1
        if nothing_saved:
            self.bench.run(self.line(folder) + ["--overwrite"])

    def check(self, folder):
        for table, count in (("training.csv", TRAINING_COLUMNS), ("validation.csv", VALIDATION_COLUMNS)):
            if not (self.whole / table).exists():
                continue  # trained with --no-validation
            expect_equal(columns(folder / table, count), columns(self.whole / table, count), f"{folder / table}")
        expect_same_files(folder, self.whole, "ckpt-*.safetensors", True)
        expect_same_files(folder, self.whole, "ckpt/*.safetensors", True)
        expect_same_files(folder, self.whole, "**/*.partial", True)


class Pipelined(Train):
    name = "pipelined"

    def line(self, folder):
        return super().line(folder) + ["--threads", "2", "--lanes", "2", "--micro-batch-size", "1", "--replicas", "2",
                                       "--gradient-accumulation-count", "8", "--enable-recomputation", "--pipeline",
                                       "--pipeline-splits", "stage1/unit1/relu", "stage2/unit1", "fc1"]


class Restore(Train):
    name = "restore"

    def prepare(self, folder):
        """A run that was killed after its first epoch, with rows that go further."""
        shutil.copytree(self.bench.work / "whole_train", folder)
        for checkpoint in sorted(folder.glob("ckpt-*.safetensors"), key=lambda path: int(path.stem[5:]))[2:]:
            checkpoint.unlink()

    def line(self, folder):
        return ["restore", "--restore-path", str(folder)]


class Average(Command):
    name = "average"

    def prepare(self, folder):
        shutil.copytree(self.bench.work / "whole_train", folder)

    def line(self, folder):
        return ["average", "--restore-path", str(folder), "--filename", str(folder / "ckpt" / "mean"), "--mode", "mean"]

    def check_after_kill(self, folder):
        expect_same_files(folder, self.whole, "ckpt/*.safetensors", False)

    def check(self, folder):
        expect_same_files(folder, self.whole, "**/*.safetensors", True)


class Dataset(Command):
    name = "dataset"

    def line(self, folder):
        return ["dataset", "imagenet", "--raw-data-dir", str(self.bench.work / "photos"), "--output-dir", str(folder),
                "--validation-fraction", "0.25", "--train-shards", "12", "--validation-shards", "4"]

    def check_after_kill(self, folder):
        expect_same_files(folder, self.whole, "*-of-?????", False)

    def check(self, folder):
        expect_same_files(folder, self.whole, "*-of-*", True)


class Text(Command):
    name = "text"

    def line(self, folder):
        files = ",".join(str(folder / f"{i}.tfrecord") for i in range(12))
        return ["dataset", "bert", "--input-file", str(self.bench.work / "text.txt"), "--output-file", files,
                "--vocab-file", str(self.bench.work / "vocab.txt"), "--duplication-factor", "20", "--remask"]

    def check_after_kill(self, folder):
        expect_same_files(folder, self.whole, "*.tfrecord", False)

    def check(self, folder):
        expect_same_files(folder, self.whole, "*.tfrecord", True)
        expect_same_files(folder, self.whole, "*.partial", True)


class Reshard(Dataset):
    name = "reshard"

    def line(self, folder):
        return ["dataset", "reshard", "--input-dir", str(self.bench.work / "whole_dataset"),
                "--output-dir", str(folder),
                "--shards", "40", "--validation-shards", "9"]


class Bench:
    """The program, its data, and the undisturbed runs."""

    def __init__(self, program, work, seed, train_options):
        self.program, self.work, self.random = program, work, random.Random(seed)
        self.train = ["train", *train_options]
        self.commands = [Train(self)] if train_options else self.all_commands()

    def all_commands(self):
        work = self.work
        write_photos(work / "photos")
        write_text(work)
        self.run(["dataset", "cifar", "--output-dir", str(work / "cifar"), "--train", "160", "--test", "40"])
        self.train = ["train", "--data-dir", str(work / "cifar"), "--dataset", "cifar-10", "--model-size", "8",
                      "--micro-batch-size", "8", "--threads", "1", "--seed", "7", "--epochs", "4",
                      "--warmup-epochs", "0",
                      "--logs-per-epoch", "4", "--ckpts-per-epoch", "2", "--weight-avg-N", "1",
                      "--weight-avg-exp", "0.5"]
        return [kind(self) for kind in (Train, Pipelined, Restore, Average, Dataset, Text, Reshard)]

    def start(self, line):
        return subprocess.Popen([self.program] + line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)

    def run(self, line, allowed=(0,)):
        process = self.start(line)
        errors = process.communicate(timeout=TIMEOUT_S)[1]
        if process.returncode not in allowed:
            raise Fault(f"{' '.join(line)} ended with {process.returncode}: {errors[-500:]}")
        return process.returncode

    def trial(self, command, folder, together):
        """Returns whether a process was killed, and whether one was refused."""
        command.prepare(folder)
        line = command.line(folder)
        processes = [self.start(line) for _ in range(2 if together else 1)]
        time.sleep(self.random.uniform(0, 1.1 * command.seconds))
        for process in processes:
            process.kill()
        killed = refused = done = 0
        for process in processes:
            errors = process.communicate(timeout=TIMEOUT_S)[1]
            if process.returncode == -9:
                killed += 1
            elif process.returncode == 0:
                done += 1
            elif together and process.returncode == 2 and any(refusal in errors for refusal in REFUSALS):
                refused += 1
            else:
                raise Fault(f"{' '.join(line)} ended with {process.returncode}: {errors[-500:]}")
        command.check_after_kill(folder)
        command.finish(folder)
        command.check(folder)
        return killed > 0, refused > 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--only", metavar="KIND")
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:end])
    work = options.work or pathlib.Path(tempfile.mkdtemp(prefix="kill_trial_"))
    work.mkdir(parents=True, exist_ok=True)
    bench = Bench(str(pathlib.Path(options.program).resolve()), work.resolve(), options.seed, words[end + 1:])
    commands = [command for command in bench.commands if options.only in (None, command.name)]
    if not commands:
        parser.error(f"--only {options.only}: choose from {', '.join(command.name for command in bench.commands)}")
    counts = collections.Counter()
    number = 0
    while counts["kills"] < options.kills:
        number += 1
        if number > 20 * options.kills:
            print(f"only {counts['kills']} kills in {number} trials: the commands end too soon", file=sys.stderr)
            return 1
        command = commands[counts["kills"] % len(commands)]
        folder = work / f"trial_{number}_{command.name}"
        together = counts["kills"] // len(commands) % 2 == 1
        try:
            killed, refused = bench.trial(command, folder, together)
        except Fault as fault:
            print(f"trial {number} of {command.name} (seed {options.seed}): {fault}\nleft in {folder}", file=sys.stderr)
            return 1
        shutil.rmtree(folder, ignore_errors=True)
        counts["kills"] += killed
        counts[f"kills of {command.name}"] += killed
        counts["kills of two at once"] += killed and together
        counts["refusals"] += refused
        counts["trials"] += 1
    print(", ".join(f"{count} {what}" for what, count in counts.items()) + ": nothing lost, nothing mixed")
    if not options.work:
        shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
