#!/usr/bin/env python3
"""Trains on two hosts that are none: two network namespaces of this machine, joined by a link of limited bandwidth.

usage: two_hosts.py CNNTRAIN [--rate 1gbit] [--rounds 3] [--updates 8] [--only results|overlap] [OPTIONS OF TRAIN ...]

Open MPI starts the second host's daemon through a script that enters its namespace, so everything but the wire is as on
two machines. Two things are shown:
  results: the losses on both hosts, with overlap and without, beside those of one process with the same global batch.
           In 32.32 these are equal bit for bit where each rank has one micro-batch in an update (the sum of two has one
           order), else within 1e-6 (relative) in each of 20 updates, with a rate that does not amplify the last bits.
  overlap: what an update takes with and without overlap, what its passes take by themselves (the two ranks at the same
           time, each as a run of its own), what its gradients take on the wire, and how much of that the passes hide.
           The step should take at most 1.1 of the longer one. OPTIONS OF TRAIN choose the network; without any it is
           ResNet-50 on generated images, batch 16.
Needs root or a kernel that lets users have namespaces, `ip` and `tc` (iproute2), veth and tbf; where one is missing,
the tool says which and ends with 77.
"""
import argparse
import csv
import itertools
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile

import ranks

SKIPPED = 77
MOST_DIFFERENCE = 1e-6
MOST_STEP = 1.1  # of the longer of compute and communication
AFTER_PASSES = r"Gradients of \d+ processes: [\d.]+ ms in each update, of which ([\d.]+) ms after"
DEFAULT_LINE = ("--model-size 50 --dataset imagenet --generated-data --batch-norm --precision 32.32 "
                "--micro-batch-size 16").split()
LAUNCH_AGENT = """#!/bin/sh
# Called by mpirun in place of ssh: HOST COMMAND...
shift
exec ip netns exec {namespace} unshare --uts sh -c "hostname {name}; $*"
"""


class NotHere(Exception):
    """This machine does not let two hosts be made; the text says why."""


def command(words):
    try:
        result = subprocess.run(words, capture_output=True, text=True)
    except OSError as error:
        raise NotHere(f"{words[0]}: {error.strerror}") from error
    if result.returncode != 0:
        raise NotHere(f"{' '.join(words)}: {(result.stderr or result.stdout).strip()}")


def enter_user_namespace():
    """Who is not root begins again as root of namespaces of its own, where the kernel allows that."""
    if os.geteuid() == 0:
        return
    unshare = ["unshare", "--user", "--map-root-user", "--net", "--mount"]
    script = 'mount -t tmpfs tmpfs /run && mkdir /run/netns && ip link set lo up && exec "$@"'
    if subprocess.run([*unshare, "sh", "-c", script, "sh", "true"], capture_output=True).returncode == 0:
        os.execvp(unshare[0], [*unshare, "sh", "-c", script, "sh", sys.executable, *sys.argv])


class TwoHosts:
    """Namespaces, the link between them, and Open MPI's words for both. `rate`: as tc takes it."""

    def __init__(self, work, rate="1gbit"):
        self.namespaces = [f"cnntrain{os.getpid()}{side}" for side in "ab"]
        self.names = ["first-host", "second-host"]
        self.addresses = ["10.77.0.1", "10.77.0.2"]  # in namespaces of their own: no other start can meet them
        self.work = work
        self.agent = pathlib.Path(work) / "launch_agent.sh"
        try:
            self.make(rate)
        except NotHere:
            self.close()
            raise

    def make(self, rate):
        for namespace in self.namespaces:
            command(["ip", "netns", "add", namespace])
        first, second = self.namespaces
        command(["ip", "link", "add", "link0", "netns", first, "type", "veth", "peer", "name", "link0", "netns",
                 second])
        for namespace, address in zip(self.namespaces, self.addresses):
            command(["ip", "-n", namespace, "address", "add", f"{address}/24", "dev", "link0"])
            command(["ip", "-n", namespace, "link", "set", "lo", "up"])
            command(["ip", "-n", namespace, "link", "set", "link0", "up"])
            command(["tc", "-n", namespace, "qdisc", "add", "dev", "link0", "root", "tbf", "rate", rate,
                     "burst", "256kb", "latency", "50ms"])
        self.agent.write_text(LAUNCH_AGENT.format(namespace=second, name=self.names[1]))
        self.agent.chmod(0o755)

    def mpirun(self, per_host=1, options=()):
        """The line in front of a rank's own."""
        hosts = ",".join(f"{address}:{per_host}" for address in self.addresses)
        words = ["mpirun", "-np", 2 * per_host, "--host", hosts,
                 "--map-by", "slot", "--bind-to", "none", "--mca", "plm_rsh_agent", self.agent,
                 "--mca", "orte_tmpdir_base", self.work,
                 "--mca", "btl", "tcp,self,vader", "--mca", "btl_tcp_if_include", "10.77.0.0/24",
                 "--mca", "oob_tcp_if_include", "10.77.0.0/24", *options]
        return self.on_first(words)

    def on_first(self, words):
        script = f'hostname {self.names[0]}; exec "$@"'
        return ["ip", "netns", "exec", self.namespaces[0], "unshare", "--uts", "sh", "-c", script, "sh", *words]

    def cut(self):
        command(["ip", "-n", self.namespaces[0], "link", "set", "link0", "down"])

    def join(self):
        command(["ip", "-n", self.namespaces[0], "link", "set", "link0", "up"])

    def close(self):
        for namespace in self.namespaces:
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True)


def rows_of(folder):
    with open(folder / "training.csv", newline="") as file:
        return list(csv.DictReader(file))


def losses(folder):
    return [float(row["loss_batch"]) for row in rows_of(folder)]


def update_seconds(folder):
    """Of the updates after the first two, which load what later ones find ready."""
    return [float(row["it_time"]) for row in rows_of(folder)][2:]


class Comparison:
    def __init__(self, program, work, hosts):
        self.program, self.work, self.hosts, self.number = program, work, hosts, 0

    def line(self, options):
        self.number += 1
        folder = self.work / f"run{self.number}"
        return folder, [self.program, "train", "--threads", "1", "--logs-path", folder, *options]

    def run(self, options, launch=()):
        """The folder of a run, and what it prints."""
        folder, line = self.line(options)
        ranks.run([*launch, *line], folder.with_suffix(".txt"))
        return folder, folder.with_suffix(".txt").read_text()


def compare_results(comparison):
    """Prints a table; returns whether all is as promised."""
    ranks.run([comparison.program, "dataset", "cifar", "--output-dir", comparison.work, "--train", "640", "--test",
               "80"], comparison.work / "cifar.txt")
    base = ["--data-dir", comparison.work, *"--dataset cifar-10 --model-size 8 --batch-norm --precision 32.32 "
            "--micro-batch-size 16 --seed 3 --iterations 20 --log-freq 1 --ckpts-per-epoch 0 --warmup-epochs 0 "
            "--abs-learning-rate 0.001".split()]  # larger rates amplify the last bits
    print("\n| micro-batches of a rank | ranks of a host | overlap | bucket | largest difference of a loss | promised |")
    print("|---|---|---|---|---|---|")
    good = True
    for each, per_host in ((1, 1), (2, 1), (1, 2)):
        count = 2 * per_host * each
        alone = losses(comparison.run([*base, "--gradient-accumulation-count", count])[0])
        for overlap, bucket in itertools.product(([], ["--no-comm-overlap"]), (1024, 10485760)):
            folder, _ = comparison.run([*base, "--gradient-accumulation-count", each, *overlap,
                                        "--max-cross-replica-buffer-size", bucket], comparison.hosts.mpirun(per_host))
            difference = max(abs(a - b) / abs(a) for a, b in zip(alone, losses(folder), strict=True))
            promised = 0.0 if count == 2 else MOST_DIFFERENCE
            good &= difference <= promised
            print(f"| {each} | {per_host} | {'no' if overlap else 'yes'} | {bucket} B | {difference:.1e} | "
                  f"{promised:.0e} |", flush=True)
    return good


def both_alone(comparison, options):
    """Update times of two runs side by side on a core each, which do not know of each other."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    lines = [comparison.line(options) for _ in cores]
    starts = [ranks.Start(["taskset", "-c", core, *line], folder.with_suffix(".txt"))
              for core, (folder, line) in zip(cores, lines)]
    for start in starts:
        if start.process.wait() != 0:
            raise SystemExit(f"{start.line}\n{start.text()[-3000:]}")
    return [seconds for folder, _ in lines for seconds in update_seconds(folder)]


def measure_overlap(comparison, line, rounds, updates):
    options = [*line, "--seed", "3", "--iterations", updates, "--log-freq", "1", "--ckpts-per-epoch", "0",
               "--no-validation"]
    values = {"compute: forward, backward, update": [], "communication": [], "step without overlap": [],
              "step with overlap": [], "communication after the passes, with overlap": []}
    compute, wire, plain, overlapped, exposed = values.values()
    for _ in range(rounds):
        compute += both_alone(comparison, options)
        for steps, exchanges, more in ((plain, wire, ["--no-comm-overlap"]), (overlapped, exposed, [])):
            folder, text = comparison.run([*options, *more], comparison.hosts.mpirun())
            steps += update_seconds(folder)
            exchanges.append(float(re.search(AFTER_PASSES, text)[1]) / 1e3)
    print("\n| of an update | ms, median (lowest to highest) |\n|---|---|")
    for what, found in values.items():
        print(f"| {what} | {1e3 * statistics.median(found):.0f} ({1e3 * min(found):.0f} to {1e3 * max(found):.0f}) |")
    hidden = 1 - statistics.median(exposed) / statistics.median(wire)
    ratio = statistics.median(overlapped) / max(statistics.median(compute), statistics.median(wire))
    efficiency = [f"{100 * statistics.median(compute) / statistics.median(steps):.1f} %" for steps in (overlapped, plain)]
    print(f"\n{100 * hidden:.0f} % of the communication is hidden; the step takes {ratio:.2f} of the longer of compute and "
          f"communication (at most {MOST_STEP} is asked for). Efficiency with overlap {efficiency[0]}, without "
          f"{efficiency[1]}", flush=True)
    return ratio <= MOST_STEP


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rate", default="1gbit", help="of the link, as tc takes it (default 1gbit)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of the measurement of overlap (default 3)")
    parser.add_argument("--updates", type=int, default=8, help="of each measured run (default 8)")
    parser.add_argument("--only", choices=["results", "overlap"])
    args, line = parser.parse_known_args()
    enter_user_namespace()
    ranks.prepare_signals()
    work = pathlib.Path(tempfile.mkdtemp(prefix="two_hosts_"))
    try:
        hosts = TwoHosts(work, args.rate)
    except NotHere as reason:
        print(f"skipped: two hosts cannot be made here: {reason}")
        return SKIPPED
    good = True
    try:
        print(f"{socket.gethostname()}: {len(os.sched_getaffinity(0))} processors, two namespaces, {args.rate} between "
              "them")
        comparison = Comparison(pathlib.Path(args.program).resolve(), work, hosts)
        if args.only != "overlap":
            good &= compare_results(comparison)
        if args.only != "results":
            good &= measure_overlap(comparison, line or DEFAULT_LINE, args.rounds, args.updates)
    except ranks.Fault as fault:
        print(fault)
        good = False
    finally:
        hosts.close()
        shutil.rmtree(work, ignore_errors=True)
    if not good:
        print("FAILED: not what is promised", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
