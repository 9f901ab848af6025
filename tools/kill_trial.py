#!/usr/bin/env python3
"""Kills commands with SIGKILL at random moments, stops trainings with SIGTERM, and looks for what was lost or mixed.

usage: kill_trial.py CNNTRAIN [--kills 300] [--seed 0] [--only KIND] [-- OPTIONS OF TRAIN ...]

Kinds: train, pipelined (stages, replicas and lanes), stopped (SIGTERM inside a long weight update), restore, average,
dataset (photos), text (BERT's). With options of a training of your own, on whose data it runs, train is the
only kind:
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
import signal
import subprocess
import sys
import tempfile
import time

import ranks
from ranks import Fault, expect_equal, table_of

REFUSALS = ("another process is writing there", "holds an earlier run")
TIMEOUT_S = 300
TABLES = {"training.csv": 8, "validation.csv": 5}  # columns that do not depend on time
TEXT = pathlib.Path(__file__).resolve().parents[1] / "tests/data/bert"
CHECKPOINTS = ("ckpt-*.safetensors", "ckpt/*.safetensors")


def expect_same_files(folder, reference, pattern, all_of_them):
    """Files of `folder` have the bytes of the reference's; with `all_of_them`, both have the same files."""
    found, wanted = ({path.relative_to(place) for path in place.glob(pattern)} for place in (folder, reference))
    if all_of_them:
        expect_equal(sorted(map(str, found)), sorted(map(str, wanted)), f"the list of {pattern}")
    for name in found:
        if name not in wanted or (folder / name).read_bytes() != (reference / name).read_bytes():
            raise Fault(f"{folder / name}: not a file of an undisturbed run")


def last_tensors(folder):
    """The bytes of the last checkpoint after its header, which contains times."""
    data = max(folder.glob("ckpt-[0-9]*.safetensors"), key=lambda path: int(path.stem[5:])).read_bytes()
    return data[8 + int.from_bytes(data[:8], "little"):]


class Command:
    """One of the commands on trial: its line for a folder, and the files that it makes."""
    signal = signal.SIGKILL

    def __init__(self, bench, name, line, patterns, begin=None):
        self.bench, self.name, self.line, self.patterns = bench, name, line, patterns
        self.prepare = begin or (lambda folder: None)  # makes what stands there before the command starts
        self.whole = bench.work / f"whole_{name}"
        self.prepare(self.whole)
        start = time.perf_counter()
        bench.run(line(self.whole))
        self.seconds = time.perf_counter() - start

    def check_after_kill(self, folder):
        for pattern in self.patterns:
            expect_same_files(folder, self.whole, pattern, False)

    def finish(self, folder):
        self.bench.run(self.line(folder))

    def check(self, folder):
        for pattern in (*self.patterns, "**/*.partial"):
            expect_same_files(folder, self.whole, pattern, True)


class Train(Command):
    def finish(self, folder):
        if self.bench.run(["restore", "--restore-path", folder], allowed=(0, 1)) == 1:  # nothing was saved
            self.bench.run([*self.line(folder), "--overwrite"])

    def check_tables(self, folder):
        for table, count in TABLES.items():
            if (self.whole / table).exists():  # there is none with --no-validation
                expect_equal(*([row[:count] for row in table_of(place / table)] for place in (folder, self.whole)),
                             f"{folder / table}")

    def check(self, folder):
        self.check_tables(folder)
        super().check(folder)


class Stopped(Train):
    """The micro-batches of the update are kept, or repeated; one more checkpoint is saved."""
    signal = signal.SIGTERM

    def check_after_kill(self, folder):
        pass

    def check(self, folder):
        self.check_tables(folder)
        expect_equal(last_tensors(folder) == last_tensors(self.whole), True, f"{folder}: the last checkpoint")
        expect_equal([*folder.glob("update-*")], [], f"{folder}: the list of kept micro-batches")


class Bench:
    """The program, its data, and the undisturbed runs."""

    def __init__(self, program, work, seed, train_options):
        self.program, self.work, self.random = program, work, random.Random(seed)
        train = lambda folder: ["train", *train_options, "--logs-path", folder]
        self.commands = [Train(self, "train", train, CHECKPOINTS)] if train_options else self.all_commands()

    def all_commands(self):
        work = self.work
        self.run(["dataset", "photos", "--output-dir", work / "photos", "--train", 240])
        shutil.rmtree(work / "photos/validation")
        self.run(["dataset", "cifar", "--output-dir", work / "cifar", "--train", 160, "--test", 40])
        line = ["train", "--data-dir", work / "cifar", *"--dataset cifar-10 --model-size 8 --micro-batch-size 8 "
                "--threads 1 --seed 7 --epochs 4 --warmup-epochs 0 --logs-per-epoch 4 --ckpts-per-epoch 2 "
                "--weight-avg-N 1 --weight-avg-exp 0.5".split(), "--logs-path"]
        pipelined = ("--threads 2 --lanes 2 --micro-batch-size 1 --replicas 2 --gradient-accumulation-count 8 "
                     "--enable-recomputation --pipeline --pipeline-splits stage1/unit1/relu stage2/unit1 fc1").split()
        long = ("train --generated-data --dataset cifar-10 --model-size 8 --epochs 0 --iterations 3 --log-freq 1 "
                "--no-validation --warmup-epochs 0 --micro-batch-size 4 --gradient-accumulation-count 1600 --seed 5 "
                "--threads 1 --abs-learning-rate 0.01 --logs-path").split()

        def copy(folder):
            shutil.copytree(work / "whole_train", folder)

        def copy_first_epoch(folder):
            """A run that was killed after its first epoch, with rows that go further."""
            copy(folder)
            for path in sorted(folder.glob(CHECKPOINTS[0]), key=lambda path: int(path.stem[5:]))[2:]:
                path.unlink()

        return [
            Train(self, "train", lambda folder: [*line, folder], CHECKPOINTS),
            Train(self, "pipelined", lambda folder: [*line, folder, *pipelined], CHECKPOINTS),
            Stopped(self, "stopped", lambda folder: [*long, folder], CHECKPOINTS),
            Train(self, "restore", lambda folder: ["restore", "--restore-path", folder], CHECKPOINTS, copy_first_epoch),
            Command(self, "average", lambda folder: ["average", "--restore-path", folder, "--filename",
                                                     folder / "ckpt/mean", "--mode", "mean"], CHECKPOINTS[1:], copy),
            Command(self, "dataset", lambda folder: [
                "dataset", "imagenet", "--raw-data-dir", work / "photos", "--output-dir", folder,
                *"--validation-fraction 0.25 --train-shards 12 --validation-shards 4".split()], ["*-of-?????"]),
            Command(self, "text", lambda folder: [
                "dataset", "bert", "--input-file", TEXT / "corpus.txt", "--vocab-file", TEXT / "vocab.txt",
                "--output-file", ",".join(f"{folder}/{i}.tfrecord" for i in range(12)), "--duplication-factor", 5000,
                "--remask"], ["*.tfrecord"])]

    def start(self, line):
        return subprocess.Popen([str(word) for word in (self.program, *line)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def run(self, line, allowed=(0,)):
        return ranks.run([self.program, *line], self.work / "output.txt", TIMEOUT_S, allowed)

    def trial(self, command, folder, together):
        """Returns whether a process was killed, and whether one was refused."""
        command.prepare(folder)
        line = command.line(folder)
        processes = [self.start(line) for _ in range(2 if together else 1)]
        time.sleep(self.random.uniform(0, 1.1 * command.seconds))
        for process in processes:
            process.send_signal(command.signal)
        killed = refused = 0
        for process in processes:
            errors = process.communicate(timeout=TIMEOUT_S)[1]
            if process.returncode in (-command.signal, 128 + command.signal):
                killed += 1
            elif together and process.returncode == 2 and any(refusal in errors for refusal in REFUSALS):
                refused += 1
            elif process.returncode != 0:
                raise Fault(f"{' '.join(map(str, line))} ended with {process.returncode}: {errors[-500:]}")
        command.check_after_kill(folder)
        command.finish(folder)
        command.check(folder)
        return killed > 0, refused > 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="KIND")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:end])
    work = pathlib.Path(tempfile.mkdtemp(prefix="kill_trial_"))
    bench = Bench(pathlib.Path(options.program).resolve(), work, options.seed, sys.argv[end + 1:])
    commands = [command for command in bench.commands if options.only in (None, command.name)]
    if not commands:
        parser.error(f"--only {options.only}: choose from {', '.join(command.name for command in bench.commands)}")
    counts, number = collections.Counter(), 0
    while counts["kills"] < options.kills:
        number += 1
        if number > 20 * options.kills:
            sys.exit(f"only {counts['kills']} kills in {number} trials: the commands end too soon")
        command = commands[counts["kills"] % len(commands)]
        folder = work / f"trial_{number}_{command.name}"
        together = counts["kills"] // len(commands) % 2 == 1
        try:
            killed, refused = bench.trial(command, folder, together)
        except Fault as fault:
            sys.exit(f"trial {number} of {command.name} (seed {options.seed}): {fault}\nleft in {folder}")
        shutil.rmtree(folder, ignore_errors=True)
        counts.update({"kills": killed, f"kills of {command.name}": killed, "refusals": refused, "trials": 1})
    print(", ".join(f"{count} {what}" for what, count in counts.items()) + ": nothing lost, nothing mixed")
    shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
