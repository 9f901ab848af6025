#!/usr/bin/env python3
"""Stops trainings with SIGTERM inside long weight updates, at random moments, continues them with `restore`, and
compares losses and weights with those of the undisturbed runs, bit for bit.

usage: stop_trial.py CNNTRAIN [--stops 40] [--seed 0] [--work FOLDER] [--only KIND] [--processes 1 2]

Kinds: cnn (ResNet-8), pipelined (the same in two stages on two lanes), norms (processes share batch-norm statistics),
validated (the training validates its weights and their average, and keeps the best), bert (pretraining). Each is run
with these numbers of processes; with several, mpirun starts them and all of them get the signal. A run is stopped one
to three times before it may end. Stops between updates are not counted. Ends with 1 at the first difference; the folder
of that run is then left for inspection.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import time

import ranks

COMMON = ["--generated-data", "--seed", "5", "--threads", "1", "--input-threads", "1"]
CNN = ["train", "--dataset", "cifar-10", "--model-size", "8", "--epochs", "0", "--iterations", "3", "--log-freq", "1",
       "--no-validation", "--warmup-epochs", "0", "--micro-batch-size", "4", "--abs-learning-rate", "0.01"] + COMMON
DATA = "DATA"  # stands for a folder of small CIFAR-10 files
KINDS = {
    "cnn": CNN,
    "pipelined": CNN[:-3] + ["2", "--input-threads", "1", "--lanes", "2", "--shards", "2", "--pipeline",
                             "--pipeline-splits", "stage2/unit1"],
    "norms": CNN + ["--batch-norm", "--BN-span", "2"],
    "validated": [word for word in CNN if word not in ("--generated-data", "--no-validation")] +
                 ["--data-dir", DATA, "--validate-every-updates", "1", "--keep-best", "loss", "--ema-decay", "0.9"],
    "bert": ["pretrain", "--config", "pretrain_tiny_128_lamb", "--num-train-steps", "3"] + COMMON,
}
ACCUMULATION = {"cnn": 1600, "pipelined": 1600, "norms": 480, "validated": 800,
                "bert": 648}  # 6 a process, for its stages
STOPPED, TIMEOUT_S = 143, 600
KEPT = re.compile(r"of (\d+) micro-batches of the next one are (kept|repeated)")
CONTINUES = "continues after"


class Fault(Exception):
    pass


def losses(folder):
    """The columns of training.csv, and of validation.csv if it is there, that do not depend on time."""
    tables = []
    for path in (folder / "training.csv", folder / "validation.csv"):
        if path.name == "validation.csv" and not path.exists():
            continue
        rows = [line.split(",") for line in path.read_text().splitlines()]
        kept = [i for i, name in enumerate(rows[0])
                if "loss" in name or "acc" in name or name in ("iteration", "step", "name")]
        if not any("loss" in rows[0][i] for i in kept):
            raise Fault(f"{path} has no losses: {rows[0]}")
        tables.append([[row[i] for i in kept] for row in rows])
    return tables


def last_weights(folder):
    """The last checkpoint, and what a validated training keeps beside it."""
    numbered = sorted(folder.glob("ckpt-[0-9]*.safetensors"), key=lambda path: int(path.stem[5:]))
    others = [*folder.glob("ckpt-best.safetensors"), *folder.glob("ckpt/*.safetensors")]
    return {path.name: tensors(path) for path in [numbered[-1], *others]}


def tensors(path):
    """Behind the header, which tells times."""
    data = path.read_bytes()
    return data[8 + int.from_bytes(data[:8], "little"):]


class Bench:
    def __init__(self, options, work):
        self.program, self.work = str(pathlib.Path(options.program).resolve()), work
        self.random = random.Random(options.seed)
        self.counts = collections.Counter()
        self.whole = {}  # by kind and number of processes: folder and seconds

    def command(self, words, processes):
        launcher = ranks.ONE_HOST + ["-np", str(processes)] if processes > 1 else []
        return launcher + [self.program] + words

    def line(self, kind, processes, folder):
        words = [self.data() if word == DATA else word for word in KINDS[kind]]
        words += ["--gradient-accumulation-count", str(ACCUMULATION[kind] // processes)]
        return self.command(words + ["--logs-path", str(folder)], processes)

    def data(self):
        folder = self.work / "cifar"
        if not folder.exists():
            words = ["dataset", "cifar", "--train", "256", "--test", "800", "--output-dir", str(folder)]
            if ranks.run(self.command(words, 1), self.work / "data.txt", TIMEOUT_S) != 0:
                raise Fault(f"no data: {(self.work / 'data.txt').read_text()[-800:]}")
        return str(folder)

    def undisturbed(self, kind, processes):
        if (kind, processes) not in self.whole:
            folder = self.work / f"whole_{kind}_{processes}"
            begin = time.monotonic()
            code = ranks.run(self.line(kind, processes, folder), self.work / "whole.txt", TIMEOUT_S)
            if code != 0:
                text = (self.work / "whole.txt").read_text()
                raise Fault(f"{kind} in {processes} processes ended with {code}: {text[-800:]}")
            self.whole[kind, processes] = folder, time.monotonic() - begin
        return self.whole[kind, processes]

    def stop(self, start, seconds):
        """Sends the signal to all processes of the run after a random time in which they train."""
        begun = lambda: "Compilation time" in start.text() or start.has_ended()
        if ranks.wait_until(begun, TIMEOUT_S) is None:
            raise Fault(f"{start.line}: does not begin to train")
        deadline = time.monotonic() + self.random.uniform(0.05, 0.7) * seconds
        while time.monotonic() < deadline and not start.has_ended():
            time.sleep(0.01)
        name = pathlib.Path(self.program).name
        pids = list(start.ranks(name).values()) if "mpirun" in start.line else [start.process.pid]
        for pid in pids:
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        if ranks.wait_until(start.has_ended, TIMEOUT_S) is None:
            raise Fault(f"{start.line}: does not stop")

    def trial(self, kind, processes, folder):
        whole, seconds = self.undisturbed(kind, processes)
        command = self.line(kind, processes, folder)
        kept_before = False
        for part in range(20):
            start = ranks.Start(command, folder.parent / f"{folder.name}.{part}.txt")
            try:
                if part < self.most_stops:
                    self.stop(start, seconds)
                elif ranks.wait_until(start.has_ended, TIMEOUT_S) is None:
                    raise Fault(f"{start.line}: does not end")
            finally:
                start.end()
            text, code = start.text(), start.process.returncode
            if kept_before and CONTINUES not in text:
                raise Fault(f"{start.line}: does not continue with the micro-batches that were kept: {text[-800:]}")
            self.counts["continued"] += CONTINUES in text
            if code == 0:
                break
            if code != STOPPED:
                raise Fault(f"{start.line} ended with {code}: {text[-800:]}")
            found = KEPT.search(text)
            kept_before = found is not None and found[2] == "kept"
            self.counts["stops inside an update"] += found is not None
            self.counts[f"stops of {kind} in {processes}"] += found is not None
            self.counts["stops that kept micro-batches"] += kept_before
            self.counts["stops between updates"] += found is None
            command = self.command(["restore", "--restore-path", str(folder)], processes)
        if losses(folder) != losses(whole):
            raise Fault(f"{folder}: losses {losses(folder)}, undisturbed {losses(whole)}")
        if last_weights(folder) != last_weights(whole):
            raise Fault(f"{folder}: other weights than in {whole}")
        if list(folder.glob("update-*")):
            raise Fault(f"{folder}: still has {list(folder.glob('update-*'))}")

    @property
    def most_stops(self):
        return 1 + self.counts["runs"] % 3


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--stops", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    ranks.end_orderly_on_sigterm()
    ranks.notice_stops()
    work = (options.work or pathlib.Path(tempfile.mkdtemp(prefix="stop_trial_"))).resolve()
    work.mkdir(parents=True, exist_ok=True)
    bench = Bench(options, work)
    kinds = [(kind, count) for kind in KINDS for count in options.processes
             if options.only in (None, kind) and (kind != "norms" or count > 1)]
    while bench.counts["stops inside an update"] < options.stops:
        kind, processes = kinds[bench.counts["runs"] % len(kinds)]
        folder = work / f"run_{bench.counts['runs']}_{kind}_{processes}"
        try:
            bench.trial(kind, processes, folder)
        except ranks.HeldUp:
            bench.counts["runs held up"] += 1
        except Fault as fault:
            print(f"run {bench.counts['runs']} of {kind} in {processes} processes (seed {options.seed}): {fault}\n"
                  f"left in {folder}", file=sys.stderr)
            return 1
        shutil.rmtree(folder, ignore_errors=True)
        bench.counts["runs"] += 1
    counts = ", ".join(f"{count} {what}" for what, count in bench.counts.items())
    print(f"{counts}: every loss and weight as undisturbed")
    if not options.work:
        shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
