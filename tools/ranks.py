"""Starts a command, the ranks of a run under mpirun, and looks after all its processes. No tool by itself."""
import os
import pathlib
import shlex
import signal
import subprocess
import time

MARKER = "CNNTRAIN_START"  # an environment variable, by which the processes of one start are found again
ONE_HOST = ["mpirun", "--oversubscribe", "--bind-to", "none"]


class Fault(Exception):
    """The program did something wrong."""


def wait_until(condition, seconds):
    """Seconds until it holds; None when these are not enough."""
    begin = time.monotonic()
    while not condition():
        time.sleep(0.02)
        if time.monotonic() - begin > seconds:
            return None
    return time.monotonic() - begin


def read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def name_of(pid):
    return read(f"/proc/{pid}/comm").decode().strip()


class Start:
    """A command and the processes that it starts; its output goes to a file."""

    def __init__(self, command, output, folder=None):
        self.marker, self.output = f"{os.getpid()}.{time.monotonic_ns()}", pathlib.Path(output)
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       MARKER: self.marker}
        self.line = shlex.join(map(str, command))
        with open(self.output, "w") as stream:
            self.process = subprocess.Popen(list(map(str, command)), cwd=folder, env=environment, stdout=stream,
                                            stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)

    def environments(self):
        """By process: its environment when it was started. Zombies do not count."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            words, state = read(f"/proc/{pid}/environ").split(b"\0"), read(f"/proc/{pid}/stat").rsplit(b")", 1)[-1]
            if f"{MARKER}={self.marker}".encode() in words and state[1:2] != b"Z":
                found[int(pid)] = dict(word.decode(errors="replace").split("=", 1) for word in words if b"=" in word)
        return found

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
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.kill()
        self.process.wait()


def run(command, output, seconds=600, allowed=(0,)):
    """The exit code, one of those allowed."""
    start = Start(command, output)
    try:
        wait_until(start.has_ended, seconds)
    finally:
        start.end()
    if start.process.returncode not in allowed:
        raise Fault(f"{start.line}\nended with {start.process.returncode}: {start.text()[-2000:]}")
    return start.process.returncode


def expect_equal(found, wanted, what):
    if found != wanted:
        raise Fault(f"{what} differs from that of an undisturbed run:\n  {found}\n  {wanted}")


def table_of(path):
    """The rows of a table, each of which must be whole."""
    rows = read(path).decode().split("\n")
    if rows.pop() != "":
        raise Fault(f"{path} is missing or ends with half a row")
    return [row.strip("\r").split(",") for row in rows]
