"""Starts the ranks of a run with mpirun and looks after them. No tool by itself: rank_trial.py, two_hosts.py and
scaling.py share it."""
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

MARKER = "CNNTRAIN_START"  # an environment variable, by which the processes of one start are found again
ONE_HOST = ["mpirun", "--oversubscribe", "--bind-to", "none"]


class HeldUp(Exception):
    """This tool was stopped for a while: what it has timed says nothing."""


stops = []  # when this tool went on after one


def notice_stops():
    signal.signal(signal.SIGCONT, lambda number, frame: stops.append(time.monotonic()))


def wait_until(condition, seconds):
    """Seconds until it holds; None when these are not enough."""
    begin = time.monotonic()
    while not condition():
        time.sleep(0.02)
        if stops and stops[-1] >= begin:
            raise HeldUp()
        if time.monotonic() - begin > seconds:
            return None
    return time.monotonic() - begin


def environment_of(pid):
    """Empty for a process that has ended, also while nobody has waited for it."""
    try:
        words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return dict(word.decode(errors="replace").split("=", 1) for word in words if b"=" in word)


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def runs(pid):
    """Is it there, and no zombie?"""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


class Start:
    """A command and the processes that it starts; its output goes to a file."""

    def __init__(self, command, output, folder=None):
        self.marker = f"{os.getpid()}.{time.monotonic_ns()}"
        self.output = pathlib.Path(output)
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       MARKER: self.marker}
        self.line = shlex.join(map(str, command))
        with open(self.output, "w") as stream:
            self.process = subprocess.Popen(list(map(str, command)), cwd=folder, env=environment, stdout=stream,
                                            stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)

    def environments(self):
        """By process: its environment when it was started."""
        every = {int(entry): environment_of(entry) for entry in os.listdir("/proc") if entry.isdigit()}
        return {pid: found for pid, found in every.items() if found.get(MARKER) == self.marker and runs(pid)}

    def ranks(self, program):
        """By rank: the process of this name. Wrappers around it do not count."""
        longest = 15  # of what the kernel keeps of a name
        return {int(found["OMPI_COMM_WORLD_RANK"]): pid for pid, found in self.environments().items()
                if "OMPI_COMM_WORLD_RANK" in found and name_of(pid) == program[:longest]}

    def has_ended(self):
        return self.process.poll() is not None

    def text(self):
        return self.output.read_text(errors="replace")

    def end(self):
        """Kills what is left of it."""
        for pid in self.environments():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        self.process.kill()
        self.process.wait()


def run(command, output, seconds=600, folder=None):
    """The exit code; None when it does not end by itself. Time in which this tool is stopped does not count."""
    start = Start(command, output, folder)
    step = 0.02
    try:
        for _ in range(round(seconds / step)):
            if start.has_ended():
                break
            time.sleep(step)
        return start.process.returncode
    finally:
        start.end()


def end_orderly_on_sigterm():
    """So that what a tool has mounted, made or started is gone with it."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
