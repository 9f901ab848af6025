#!/usr/bin/env python3
"""Lets one rank of a run under mpirun go wrong, again and again, and looks how all of them end and whether the run goes
on.

usage: rank_trial.py CNNTRAIN [--rounds 200] [--faults kill stop ...] [--seed 0] [--timeout 5] [--work FOLDER]

A round trains a small network in 2 or 4 ranks and does one of these at a random moment:
  kill       SIGKILL to one rank; mpirun ends the others
  abandon    the same under mpirun --enable-recovery, which leaves the others to themselves
  stop       SIGSTOP to one rank
  term       SIGTERM to one rank
  term-all   SIGTERM to mpirun
  cut        the link between two hosts goes down until all ranks have ended (two_hosts.py; left out where these cannot
             be made)
  disk       the disk of rank 0's run folder is full (a small tmpfs; without the right to mount one, a limit on files'
             sizes)
  nan        a rank meets an image that makes its loss NaN. All start with a weight of 1e38 that reads what is exactly
             zero in all images but a few
  damage     records in one rank's own copy of the TFRecords have wrong checksums
Each time all ranks must end within --timeout (the run's --comm-timeout) and --margin seconds with the right exit code
and message, no process may be left, every checkpoint must be that of an undisturbed run byte for byte and readable, and
`restore`, with 1, 2 or 4 ranks, must lead to the losses of the undisturbed run: bit for bit with the same number of
ranks, else within 1e-6. A fault that comes when the run has ended counts as none, and a round in which this tool itself
was stopped is done again. An mpirun that hangs when all ranks have ended is ended by this tool and counted in the
table. Ends with 1 at the first fault of the program; the folder of that round is then left for inspection.
Prints a table: rounds, seconds from the fault to the end of all processes, exit codes, what the other ranks waited in.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import ranks
import two_hosts
from kill_trial import Fault, expect_equal, write_photos
from rank_faults import KINDS, enlarge_weight, write_cifar

PASSES = 4         # micro-batches of an update, of all ranks together
RANKS = (1, 2, 4)  # that can share them
START_S = 300      # within which a run that nobody disturbs ends
MOST_DIFFERENCE = 1e-6

WRAPPER = """#!/bin/sh
# CODES HOMES PROGRAM ...: a rank in a folder of its own, /proc/self/cwd to it; its exit code is kept.
codes=$1 homes=$2
shift 2
cd "$homes/$OMPI_COMM_WORLD_RANK" || exit
trap : TERM
"$@"
code=$?
echo $code > "$codes/$OMPI_COMM_WORLD_RANK"
exit $code
"""

WAITS_IN = (r"(all-reduce of bucket \d+|sharing memory of bucket \d+|sharing memory|broadcast \([^:]*?\)|"
            r"all-gather \([^:]*?\)|barrier \([^:]*?\)|start of MPI)")


def table_of(folder, name):
    path = folder / name
    if not path.exists():
        raise Fault(f"{path} is missing")
    rows = path.read_text().split("\n")
    if rows.pop() != "":
        raise Fault(f"{path} ends with half a row")
    return [row.strip("\r").split(",") for row in rows]


def difference_of_losses(folder, reference):
    """The largest relative one. Rows must be of the same updates."""
    found, wanted = table_of(folder, "training.csv")[1:], table_of(reference, "training.csv")[1:]
    expect_equal([row[1:4] for row in found], [row[1:4] for row in wanted], f"updates, epochs and rates in {folder}")
    return max(abs(float(a) - float(b)) / abs(float(b)) for mine, theirs in zip(found, wanted)
               for a, b in zip(mine[4:6], theirs[4:6]))


class Round:
    """A run, what is done to it, and what becomes of it."""

    def __init__(self, bench, kind, folder):
        self.bench, self.kind, self.folder = bench, kind, folder
        self.world = bench.random.choice(RANKS[1:])
        self.whole = bench.reference(kind.data, self.world, kind.hosts)
        self.run = folder / "run"
        self.codes = folder / "codes"
        self.codes.mkdir(parents=True)
        self.run.mkdir()
        self.mounted = False
        self.struck_rank = None
        self.late = self.mpirun_hung = False
        self.operations = set()

    def mount(self, size, options=""):
        if not self.mounted and self.bench.can_mount:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.run], check=True)
            self.mounted = True
        elif self.mounted:
            subprocess.run(["mount", "-o", f"{options}size={size}", self.run], check=True)

    def unmount(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.run])

    def command(self, launch, line):
        if launch == []:
            return line
        program = [self.bench.wrapper, self.codes, self.bench.homes(self.kind.data)] if self.kind.wrapped else []
        if self.kind.name == "disk" and not self.bench.can_mount:
            program = ["sh", "-c", f'[ "$OMPI_COMM_WORLD_RANK" = 0 ] && ulimit -f {self.room // 1024}; exec "$@"', "sh",
                       *program]
        return [*launch, *program, *line]

    def signal_rank(self, number):
        """To one of the ranks, and with SIGKILL to the shell around it. Waits until this rank is there."""
        self.struck_rank = self.bench.random.randrange(self.world)
        program = self.bench.program.name
        ranks.wait_until(lambda: self.struck_rank in self.start.ranks(program) or self.start.has_ended(), START_S)
        pid = self.start.ranks(program).get(self.struck_rank)
        if pid is None:
            self.late = True
            return
        shell = [other for other, found in self.start.environments().items()
                 if found.get("OMPI_COMM_WORLD_RANK") == str(self.struck_rank) and ranks.name_of(other) == "rank.sh"]
        for target in (shell if number == signal.SIGKILL else []) + [pid]:
            try:
                os.kill(target, number)
            except ProcessLookupError:
                self.late = True

    def wait_and_strike(self):
        moment = self.bench.random.uniform(0, 1.05 * self.bench.seconds[self.whole])
        if ranks.wait_until(self.start.has_ended, moment) is not None:
            self.late = True
            return
        self.kind.strike(self)

    def play(self):
        """Returns the seconds from the fault to the end."""
        self.kind.prepare(self)
        line = self.bench.line(self.kind.data, self.run, self.world, self.bench.timeout)
        self.start = ranks.Start(self.command(self.kind.launch(self), line), self.folder / "output.txt",
                                 self.bench.home(self.kind.data, 0))
        try:
            if self.kind.at_random:
                self.wait_and_strike()
            limit = self.bench.timeout + self.bench.margin if self.kind.at_random and not self.late else START_S
            seconds = ranks.wait_until(lambda: self.kind.have_ended(self), limit)
            if seconds is None:
                seconds = limit
                self.end_mpirun_that_hangs(f"after {limit} s")
            self.kind.repair(self)
            if ranks.wait_until(self.start.has_ended, START_S) is None:
                self.end_mpirun_that_hangs(f"{START_S} s later")
            if self.start.process.returncode == 0 and self.kind.name != "abandon":
                self.late = True
            if self.kind.name == "abandon" and set(self.exit_codes().values()) == {0}:
                self.late = True
            if ranks.wait_until(lambda: not self.start.environments(), 2) is None:
                raise Fault(f"processes are left: {self.left()}")
        finally:
            self.start.end()
        return seconds

    def end_mpirun_if_it_hangs(self):
        self.mpirun_hung = ranks.wait_until(self.start.has_ended, self.bench.margin) is None
        if self.mpirun_hung:
            self.start.end()

    def end_mpirun_that_hangs(self, when):
        """Open MPI 4.1 now and then waits for ever in the end of its PMIx server once it has lost a rank, and then does
        not end one that is stopped. A Fault when any rank that could end is left."""
        left = set(self.start.ranks(self.bench.program.name))
        if left - ({self.struck_rank} if self.kind.stops else set()):
            raise Fault(f"{when} there are still {self.left()}")
        self.mpirun_hung = True
        self.start.end()

    def left(self):
        return [f"{pid} {ranks.name_of(pid)}" for pid in self.start.environments()]

    # What must have been said ---------------------------------------------------------------------------------------
    def expect_code(self, *codes):
        """mpirun itself dies now and then when ranks end while others start: of SIGPIPE, or in the end of its PMIx
        server."""
        codes += (-signal.SIGPIPE, -signal.SIGSEGV)
        if self.mpirun_hung:
            return
        if self.start.process.returncode not in codes:
            raise Fault(f"mpirun ended with {self.start.process.returncode}, expected {codes}")

    def exit_codes(self):
        return {int(path.name): int(path.read_text() or -1) for path in self.codes.iterdir()}

    def expect_codes(self, wanted, others):
        """mpirun may kill a rank before its shell has noted a code."""
        for rank, code in self.exit_codes().items():
            if code not in wanted.get(rank, others) and code not in (137, 143):
                raise Fault(f"rank {rank} ended with {code}, expected {wanted.get(rank, others)}")

    def expect_others(self, code):
        found = self.exit_codes()
        for rank in set(range(self.world)) - {self.struck_rank}:
            if found.get(rank) != code:
                raise Fault(f"rank {rank} ended with {found.get(rank)}, expected {code}")

    def expect_text(self, pattern):
        if not re.search(pattern, self.start.text()):
            raise Fault(f"nobody says '{pattern}'")

    def expect_missing(self, possible=None):
        """The others name what they waited in, and the rank that did not come; before MPI has started, only that one is
        late. A rank that was stopped and goes on when mpirun ends it may miss all the others."""
        text = self.start.text()
        said = re.findall(WAITS_IN + r": (?:ranks? ([\d, and]+) did not take part|not all ranks took part) within",
                          text)
        if not said and self.mpirun_hung:
            return  # with what it had not written yet
        if not said:
            raise Fault("nobody says which ranks did not take part in what")
        for operation, numbers in said:
            self.operations.add(re.sub(r"\d+", "N", operation))
            named = {int(number) for number in re.findall(r"\d+", numbers)}
            allowed = {self.struck_rank} if possible is None else set(possible)
            own_view = set(range(self.world)) - allowed
            if not named <= allowed and named != own_view:
                raise Fault(f"ranks {sorted(named)} are named, not {sorted(allowed)}")

    # What must be left ----------------------------------------------------------------------------------------------
    def check_files(self):
        # SIGTERM saves one more, also that of mpirun.
        interrupted = self.kind.name in ("term", "term-all", "kill", "stop")
        for path in sorted(self.run.glob("ckpt-*.safetensors")):
            whole = self.whole / path.name
            # A checkpoint says which data it has seen.
            if whole.exists() and not self.kind.changes_data and path.read_bytes() != whole.read_bytes():
                raise Fault(f"{path}: other bytes than after an undisturbed run")
            if not whole.exists() and not interrupted:
                raise Fault(f"{path}: an undisturbed run has no such file")
        if any(self.run.glob("ckpt-*.safetensors")):
            self.bench.run([self.bench.program, "analyse", "--restore-path", self.run, "--find-nans"],
                           self.folder / "analyse.txt")

    def go_on(self):
        """Restores, or begins anew when nothing was saved. Returns the number of ranks and the largest difference of a
        loss."""
        world = self.bench.random.choice(RANKS)
        launch = self.bench.launch(world)
        line = [self.bench.program, "restore", "--restore-path", self.run, "--comm-timeout", START_S]
        if self.kind.changes_data:
            line.append("--accept-other-data")
        output = self.folder / "restored.txt"
        folder = self.bench.home(self.kind.data, 0)
        code = ranks.run(self.command(launch, line), output, START_S, folder)
        # mpirun's code is that of the rank that ends first: rank 0, or another one that hears of it.
        if code in (1, 7) and re.search("to resume from|no arguments.json", output.read_text()):
            begin = [*self.bench.line(self.kind.data, self.run, world), "--overwrite"]
            code = ranks.run(self.command(launch, begin), output, START_S, folder)
            reference = self.bench.reference(self.kind.data, world)
            same = True
        else:
            reference = self.whole
            same = world == self.world and (self.kind.hosts == 1 or world == 2)
        if code != 0:
            raise Fault(f"going on with {world} ranks ended with {code}: {output.read_text()[-1500:]}")
        difference = difference_of_losses(self.run, reference)
        if same and difference > 0 or difference > MOST_DIFFERENCE:
            raise Fault(f"a loss differs by {difference:.1e} from that of the undisturbed run (went on with {world} "
                        "ranks)")
        if same:
            wanted = [row[:5] for row in table_of(reference, "validation.csv")]
            expect_equal([row[:5] for row in table_of(self.run, "validation.csv")], wanted, "validation.csv")
        return world, difference


class Bench:
    """The program, its data and the undisturbed runs."""

    def __init__(self, options, work):
        self.program = pathlib.Path(options.program).resolve()
        self.work, self.timeout, self.margin = work, options.timeout, options.margin
        self.random = random.Random(options.seed)
        self.wrapper = work / "rank.sh"
        self.wrapper.write_text(WRAPPER)
        self.wrapper.chmod(0o755)
        self.can_mount = self.try_mount()
        self.hosts = None
        self.seconds = {}  # of each undisturbed run
        self.write_data()

    def try_mount(self):
        place = self.work / "mount"
        place.mkdir(exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", place],
                          capture_output=True).returncode != 0:
            return False
        subprocess.run(["umount", place], check=True)
        return True

    def write_data(self):
        if self.home("records", max(RANKS) - 1).exists():
            return
        write_photos(self.work / "photos", images=64)
        self.run([self.program, "dataset", "imagenet", "--raw-data-dir", self.work / "photos", "--output-dir",
                  self.work / "tfrecords", "--validation-fraction", "0.25", "--train-shards", "4",
                  "--validation-shards", "2"],
                 self.work / "dataset.txt")
        for rank in range(max(RANKS)):
            write_cifar(self.home("cifar", rank))
            write_cifar(self.home("heavy", rank))
            shutil.copytree(self.work / "tfrecords", self.home("records", rank))

    def homes(self, data):
        return self.work / "homes" / data

    def home(self, data, rank):
        """Where this rank finds its data as its working folder."""
        return self.homes(data) / str(rank)

    def line(self, data, folder, world, timeout=START_S):
        words = [self.program, "train", "--data-dir", "/proc/self/cwd", "--precision", "32.32", "--threads", "1",
                 "--seed", "7", "--warmup-epochs", "0", "--weight-decay", "0", "--abs-learning-rate", "0.001",
                 "--gradient-accumulation-count", PASSES // world, "--comm-timeout", timeout,
                 "--max-cross-replica-buffer-size", "60000", "--logs-path", folder]
        if data == "records":
            return words + ["--group-norm", "--dataset", "imagenet", "--image-size", "32", "--model-size", "10",
                            "--micro-batch-size", "2",
                            "--epochs", "1", "--logs-per-epoch", "6", "--ckpts-per-epoch", "2"]
        words += ["--batch-norm", "--dataset", "cifar-10", "--model-size", "8", "--micro-batch-size", "16",
                  "--epochs", "4", "--logs-per-epoch",
                  "6", "--ckpts-per-epoch", "2"]
        if data == "heavy":
            words += ["--init-path", "/proc/self/cwd/heavy.safetensors", "--trust-edited-checkpoint"]
        return words

    def run(self, words, output, folder=None):
        code = ranks.run(words, output, START_S, folder)
        if code != 0:
            raise Fault(f"{' '.join(map(str, words))} ended with {code}: {output.read_text()[-2000:]}")

    def launch(self, world, hosts=1):
        """The line in front of a rank's own."""
        if hosts == 2:
            return self.hosts.mpirun(world // 2)
        return [] if world == 1 else [*ranks.ONE_HOST, "-np", world]

    def reference(self, data, world, hosts=1):
        """The folder of an undisturbed run."""
        folder = self.work / "whole" / f"{data}_{world}_on_{hosts}"
        kept = folder.with_suffix(".seconds")
        if folder not in self.seconds and kept.exists():
            self.seconds[folder] = float(kept.read_text())
        if folder not in self.seconds:
            folder.parent.mkdir(exist_ok=True)
            if data == "heavy":
                for rank in range(world):  # each takes the network's options from the file
                    enlarge_weight(self.reference("cifar", 1) / "ckpt-0.safetensors",
                                   self.home("heavy", rank) / "heavy.safetensors")
            begin = time.monotonic()
            self.run([*self.launch(world, hosts), *self.line(data, folder, world)], folder.with_suffix(".txt"),
                     self.home(data, 0))
            self.seconds[folder] = time.monotonic() - begin
            kept.write_text(f"{self.seconds[folder]}\n")
        return folder

    def check_refusal(self):
        """A number of ranks that cannot keep the batch is refused, with those that can."""
        folder = self.work / "refused"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.reference("cifar", 2), folder)
        output = self.work / "refused.txt"
        code = ranks.run([*ranks.ONE_HOST, "-np", 3, self.program, "restore", "--restore-path", folder], output,
                         START_S,
                         self.home("cifar", 0))
        if code != 2 or "continue with one of 1, 2, 4 processes" not in output.read_text():
            raise Fault(f"restore with 3 ranks ended with {code}: {output.read_text()[-1000:]}")


class Tally:
    """What became of the rounds of one kind."""

    def __init__(self):
        self.rounds = self.late = 0
        self.seconds, self.differences = [], []
        self.codes, self.operations, self.worlds = collections.Counter(), collections.Counter(), collections.Counter()

    def add(self, round_, seconds, world, difference):
        self.rounds += 1
        self.seconds.append(seconds)
        self.differences.append(difference)
        self.codes["mpirun hung" if round_.mpirun_hung else str(round_.start.process.returncode)] += 1
        self.operations.update(round_.operations)
        self.worlds[world] += 1

    def row(self, name, timed):
        seconds = f"{statistics.median(self.seconds):.1f}, {max(self.seconds):.1f}" if timed else "-"
        counts = [", ".join(f"{what}: {count}" for what, count in sorted(counter.items())) or "-"
                  for counter in (self.codes, self.operations, self.worlds)]
        return (f"| {name} | {self.rounds} | {self.late} | {seconds} | {counts[0]} | {counts[1]} | {counts[2]} "
                f"| {max(self.differences):.1e} |")


def play_round(bench, kind, folder, tally):
    """True when the fault met the run."""
    round_ = Round(bench, kind, folder)
    try:
        seconds = round_.play()
        if round_.late:
            tally.late += 1
            return False
        kind.check(round_)
        round_.check_files()
        world, difference = round_.go_on()
    except Exception:
        kind.repair(round_)
        raise
    finally:
        round_.unmount()
    tally.add(round_, seconds, world, difference)
    return True


def play(bench, kinds, rounds, tallies):
    """Fills the tallies, by kind. Fault at the first thing that is wrong."""
    done = number = 0
    while done < rounds:
        number += 1
        if number > 20 * rounds + 20:
            raise Fault(f"only {done} faults in {number} rounds met a run")
        kind = kinds[done % len(kinds)]
        folder = bench.work / f"round_{number}_{kind.name}"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            done += play_round(bench, kind, folder, tallies[kind.name])
        except ranks.HeldUp:
            print(f"round {number} is done again: this tool was stopped on the way", file=sys.stderr)
        except Fault as fault:
            raise Fault(f"round {number}, {kind.name}: {fault}\nleft in {folder}") from fault
        shutil.rmtree(folder, ignore_errors=True)


def print_table(kinds, tallies):
    """Also of a trial that ends early."""
    print("| fault | rounds | came too late | all ended after, s: median, longest | exit codes of mpirun | others "
          "waited in "
          "| went on with ranks | largest difference of a loss |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in kinds:
        if tallies[kind.name].rounds > 0:
            print(tallies[kind.name].row(kind.name, kind.at_random))
    print(f"{sum(tally.rounds for tally in tallies.values())} rounds in which all ranks ended in time and nothing was "
          "lost")


def chosen_kinds(bench, names, work):
    if "cut" in names:
        try:
            bench.hosts = two_hosts.TwoHosts(work)
        except two_hosts.NotHere as reason:
            print(f"skipped: cut: two hosts cannot be made here: {reason}")
            names = [name for name in names if name != "cut"]
    return [kind(bench) for kind in KINDS if kind.name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=200, help="of all faults together (default 200)")
    parser.add_argument("--faults", nargs="+", choices=[kind.name for kind in KINDS],
                        default=[kind.name for kind in KINDS])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=5, help="--comm-timeout of the runs, in seconds (default 5)")
    parser.add_argument("--margin", type=float, default=5,
                        help="seconds beyond it until nothing may be left (default 5)")
    parser.add_argument("--work", type=pathlib.Path,
                        help="folder to work in, kept; its data and undisturbed runs serve later starts of the same "
                             "program")
    options = parser.parse_args()
    two_hosts.enter_user_namespace()
    ranks.end_orderly_on_sigterm()
    ranks.notice_stops()
    work = options.work or pathlib.Path(tempfile.mkdtemp(prefix="rank_trial_"))
    work.mkdir(parents=True, exist_ok=True)
    bench, kinds, tallies = None, [], collections.defaultdict(Tally)
    try:
        bench = Bench(options, work.resolve())
        kinds = chosen_kinds(bench, options.faults, work)
        for data, hosts in sorted({(kind.data, kind.hosts) for kind in kinds}):
            for world in RANKS if hosts == 1 else RANKS[1:]:
                bench.reference(data, world, hosts)
        bench.check_refusal()
        play(bench, kinds, options.rounds, tallies)
    except Fault as fault:
        print(f"FAILED (seed {options.seed}): {fault}", file=sys.stderr)
        return 1
    finally:
        if bench and bench.hosts:
            bench.hosts.close()
        print_table(kinds, tallies)
    if not options.work:
        shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
