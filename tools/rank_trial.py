#!/usr/bin/env python3
"""Lets one rank of a run under mpirun go wrong, again and again, and looks how all of them end and whether the run goes
on.

A round trains a small network in 2 or 4 ranks and does one of these, all but the last at a random moment:
  kill       SIGKILL to one rank; mpirun ends the others
  stop       SIGSTOP to one rank
  term       SIGTERM to one rank
  term-all   SIGTERM to mpirun
  cut        the link between two hosts goes down until all ranks have ended (ranks.py; left out where these cannot
             be made)
  disk       the disk of rank 0's run folder is full, a small tmpfs (left out where none can be mounted)
Each time all ranks must end within --timeout (the run's --comm-timeout) and five seconds with the right exit code
and message, no process may be left, every checkpoint must be that of an undisturbed run byte for byte and readable, and
`restore`, with 1, 2 or 4 ranks, must lead to the losses of the undisturbed run: bit for bit with the same number of
ranks, else within 1e-6. A fault that comes when the run has done its work counts as none. Ends with 1 at the first
fault of the program; the folder of that round is then left.
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import ranks
from ranks import Fault, expect_equal, table_of

PASSES = 4         # micro-batches of an update, of all ranks together
RANKS = (1, 2, 4)  # that can share them
MARGIN_S = 5       # beyond --comm-timeout, until all ranks must have ended
START_S = 300      # within which a run that nobody disturbs ends
MOST_DIFFERENCE = 1e-6
# Exit codes of mpirun. Its own code for SIGTERM is 1; 143 is that of a rank that was sooner. While ranks connect,
# Open MPI ends one that finds no network, with 255.
CODES = {"kill": (137,), "stop": (7,), "term": (143,), "term-all": (1, 143), "cut": (7, 255), "disk": (5, 7)}


def difference_of_losses(folder, reference):
    """The largest relative difference. Rows must be of the same updates."""
    found, wanted = (table_of(place / "training.csv")[1:] for place in (folder, reference))
    expect_equal([row[1:4] for row in found], [row[1:4] for row in wanted], f"updates, epochs and rates in {folder}")
    return max(abs(float(a) - float(b)) / abs(float(b)) for mine, theirs in zip(found, wanted)
               for a, b in zip(mine[4:6], theirs[4:6]))


class Round:
    """A run, what is done to it, and what becomes of it."""

    def __init__(self, bench, kind, folder):
        self.bench, self.kind, self.folder, self.run = bench, kind, folder, folder / "run"
        self.hosts = 2 if kind == "cut" else 1
        self.world = bench.random.choice(RANKS[1:])
        self.whole = bench.reference(self.world, self.hosts)
        self.struck_rank, self.late, self.mpirun_hung = 0, False, False
        self.run.mkdir(parents=True)
        if kind == "disk":
            self.mount(f"size={bench.random.randrange(60_000, 2_500_000)}")

    def mount(self, options):
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.run], check=True)

    def strike(self):
        if self.kind == "term-all":
            return self.start.process.send_signal(signal.SIGTERM)
        if self.kind == "cut":
            return self.bench.hosts.link("down")
        self.struck_rank = self.bench.random.randrange(self.world)
        number = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "term": signal.SIGTERM}[self.kind]
        ranks.wait_until(lambda: self.struck_rank in self.found() or self.start.has_ended(), START_S)
        try:
            os.kill(self.found()[self.struck_rank], number)
        except (KeyError, ProcessLookupError):
            self.late = True

    def found(self):
        return self.start.ranks(self.bench.program.name)

    def have_ended(self):
        """All that must end in time. mpirun waits for a link until TCP gives up, a quarter of an hour by default."""
        return not self.found() if self.kind == "cut" else self.start.has_ended()

    def play(self):
        """Returns the seconds from the fault to the end."""
        line = self.bench.line(self.run, self.world, self.bench.timeout)
        self.start = ranks.Start([*self.bench.launch(self.world, self.hosts), *line], self.folder / "output.txt")
        limit = START_S
        try:
            if self.kind != "disk":
                moment = self.bench.random.uniform(0, 1.05 * self.bench.seconds[self.whole])
                if ranks.wait_until(self.start.has_ended, moment) is None:
                    self.strike()
                    limit = self.bench.timeout + MARGIN_S
            seconds = ranks.wait_until(self.have_ended, limit)
            if seconds is None:
                self.end_mpirun_that_hangs(f"after {limit} s")
            if self.kind == "cut":
                self.bench.hosts.link("up")
            if ranks.wait_until(self.start.has_ended, START_S) is None:
                self.end_mpirun_that_hangs(f"{START_S} s later")
            self.late = self.late or self.start.process.returncode == 0 or self.was_only_ending()
            if ranks.wait_until(lambda: not self.start.environments(), 2) is None:
                raise Fault(f"processes are left: {self.left()}")
            return seconds or limit
        finally:
            if self.kind == "cut":
                self.bench.hosts.link("up")
            if self.kind == "disk":
                self.mount("remount,size=1g")
            self.start.end()

    def was_only_ending(self):
        """Ranks that have done their work leave without a rank that stops while MPI ends, which mpirun calls 1."""
        return self.kind == "stop" and self.start.process.returncode == 1 and "Time to train" in self.start.text()

    def end_mpirun_that_hangs(self, when):
        """Open MPI 4.1 now and then waits for ever in the end of its PMIx server once it has lost a rank, and then does
        not end one that is stopped. A Fault when any rank that could end is left."""
        if set(self.found()) - ({self.struck_rank} if self.kind == "stop" else set()):
            raise Fault(f"{when} there are still {self.left()}")
        self.mpirun_hung = True
        self.start.end()

    def left(self):
        return [f"{pid} {ranks.name_of(pid)}" for pid in self.start.environments()]

    def check_end(self):
        """mpirun itself dies now and then when ranks end while others start: of SIGPIPE, or in its PMIx server."""
        codes = (*CODES[self.kind], -signal.SIGPIPE, -signal.SIGSEGV)
        if not self.mpirun_hung and self.start.process.returncode not in codes:
            raise Fault(f"mpirun ended with {self.start.process.returncode}, expected {codes}")
        text = self.start.text()
        if self.kind == "kill" and "exited on signal 9" not in text:
            raise Fault("nobody says that a rank was killed")
        if self.kind == "disk" and not re.search("rank 0 has left: .*No space left on device", text):
            raise Fault("the others do not say why rank 0 has left")
        named = rf"(ranks? ([\d, and]*\D)?{self.struck_rank}\b[\d, and]* did not take|not all ranks took) part within"
        if self.kind in ("stop", "cut") and not self.mpirun_hung and not re.search(named, text) and (
                "Unable to connect to the peer" not in text):
            raise Fault(f"nobody says that rank {self.struck_rank} did not take part")

    def check_files(self):
        for path in sorted(self.run.glob("ckpt-*.safetensors")):
            whole = self.whole / path.name
            if whole.exists() and path.read_bytes() != whole.read_bytes():
                raise Fault(f"{path}: other bytes than after an undisturbed run")
            if not whole.exists() and self.kind in ("cut", "disk"):  # SIGTERM saves one more, also that of mpirun
                raise Fault(f"{path}: an undisturbed run has no such file")
        if any(self.run.glob("ckpt-*.safetensors")):
            ranks.run([self.bench.program, "analyse", "--restore-path", self.run, "--find-nans"],
                      self.folder / "analyse.txt")

    def go_on(self):
        """Restores, or begins anew when nothing was saved. Returns the largest difference of a loss."""
        world, output = self.bench.random.choice(RANKS), self.folder / "restored.txt"
        reference, same = self.whole, world == self.world and (self.hosts == 1 or world == 2)
        line = [self.bench.program, "restore", "--restore-path", self.run, "--comm-timeout", START_S]
        # mpirun's code is that of the rank that ends first: rank 0, or another one that hears of it.
        if ranks.run([*self.bench.launch(world), *line], output, START_S, (0, 1, 7)) != 0:
            if not re.search("to resume from|no arguments.json", output.read_text()):
                raise Fault(f"going on with {world} ranks: {output.read_text()[-1500:]}")
            ranks.run([*self.bench.launch(world), *self.bench.line(self.run, world), "--overwrite"], output, START_S)
            reference, same = self.bench.reference(world), True
        difference = difference_of_losses(self.run, reference)
        if same and difference > 0 or difference > MOST_DIFFERENCE:
            raise Fault(f"a loss differs by {difference:.1e} from that of the undisturbed run ({world} ranks went on)")
        if same:
            expect_equal(*([row[:5] for row in table_of(place / "validation.csv")] for place in (self.run, reference)),
                         "validation.csv")
        return difference


class Bench:
    """The program, its data and the undisturbed runs."""

    def __init__(self, options, work):
        self.program, self.work = pathlib.Path(options.program).resolve(), work
        self.timeout, self.random = options.timeout, random.Random(options.seed)
        self.hosts, self.seconds = None, {}  # of each undisturbed run
        ranks.run([self.program, "dataset", "cifar", "--output-dir", work / "cifar", "--train", 384, "--test", 64],
                  work / "dataset.txt")

    def line(self, folder, world, timeout=START_S):
        return [self.program, "train", "--data-dir", self.work / "cifar", "--gradient-accumulation-count",
                PASSES // world, "--comm-timeout", timeout, "--logs-path", folder,
                *"--dataset cifar-10 --model-size 8 --batch-norm --micro-batch-size 16 --precision 32.32 --threads 1 "
                "--seed 7 --warmup-epochs 0 --weight-decay 0 --abs-learning-rate 0.001 --epochs 4 --logs-per-epoch 6 "
                "--ckpts-per-epoch 2 --max-cross-replica-buffer-size 60000".split()]

    def launch(self, world, hosts=1):
        """The line in front of a rank's own."""
        if hosts == 2:
            return self.hosts.mpirun(world // 2)
        return [] if world == 1 else [*ranks.ONE_HOST, "-np", world]

    def reference(self, world, hosts=1):
        """The folder of an undisturbed run. The order of sums depends on the hosts."""
        folder = self.work / f"whole_{world}_on_{hosts}"
        if folder not in self.seconds:
            begin = time.monotonic()
            ranks.run([*self.launch(world, hosts), *self.line(folder, world)], folder.with_suffix(".txt"), START_S)
            self.seconds[folder] = time.monotonic() - begin
        return folder


def play(bench, kinds, rounds):
    done = number = 0
    while done < rounds:
        number += 1
        if number > 20 * rounds + 20:
            raise Fault(f"only {done} faults in {number} rounds met a run")
        kind = kinds[done % len(kinds)]
        folder = bench.work / f"round_{number}_{kind}"
        try:
            round_ = Round(bench, kind, folder)
            seconds = round_.play()
            if not round_.late:
                round_.check_end()
                round_.check_files()
                code = "hung" if round_.mpirun_hung else f"ended with {round_.start.process.returncode}"
                print(f"{kind}, {round_.world} ranks: all ended after {seconds:.1f} s, mpirun {code}; going on, losses "
                      f"differ by {round_.go_on():.1e}", flush=True)
                done += 1
        except Fault as fault:
            raise Fault(f"round {number}, {kind}: {fault}\nleft in {folder}") from fault
        finally:
            subprocess.run(["umount", "-l", folder / "run"], capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="build/cnntrain")
    parser.add_argument("--rounds", type=int, default=200, help="of all faults together (default 200)")
    parser.add_argument("--faults", nargs="+", choices=CODES, default=list(CODES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=5, help="--comm-timeout of the runs, in seconds (default 5)")
    options = parser.parse_args()
    ranks.enter_user_namespace()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # all that was made is gone then
    work = pathlib.Path(tempfile.mkdtemp(prefix="rank_trial_"))
    bench, kinds = None, options.faults
    try:
        bench = Bench(options, work)
        if "disk" in kinds and subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", work],
                                              capture_output=True).returncode != 0:
            print("skipped: disk: no tmpfs can be mounted here")
            kinds = [kind for kind in kinds if kind != "disk"]
        if "cut" in kinds:
            try:
                bench.hosts = ranks.TwoHosts(work)
            except ranks.NotHere as reason:
                print(f"skipped: cut: two hosts cannot be made here: {reason}")
                kinds = [kind for kind in kinds if kind != "cut"]
        play(bench, kinds, options.rounds)
    except Fault as fault:
        print(f"FAILED (seed {options.seed}): {fault}", file=sys.stderr)
        return 1
    finally:
        if bench and bench.hosts:
            bench.hosts.close()
    shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
