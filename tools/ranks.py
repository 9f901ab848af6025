"""Starts the ranks of a run under mpirun, on one host or two, and looks after all processes. No tool by itself.

Two hosts are network namespaces of this machine, joined by a link of limited bandwidth. Open MPI starts the second
host's daemon through a script that enters its namespace, so everything but the wire is as on two machines. This needs
root or a kernel that lets users have namespaces, `ip` and `tc` (iproute2), veth and tbf.
"""
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

MARKER = "CNNTRAIN_START"  # an environment variable, by which the processes of one start are found again
ONE_HOST = ["mpirun", "--oversubscribe", "--bind-to", "none"]
ADDRESSES = ["10.77.0.1", "10.77.0.2"]  # in namespaces of their own: no other start can meet them
SKIPPED = 77  # exit code of tests where this machine lacks something
LAUNCH_AGENT = """#!/bin/sh
# Called by mpirun in place of ssh: HOST COMMAND...
shift
exec ip netns exec {namespace} unshare --uts sh -c "hostname second-host; $*"
"""


class Fault(Exception):
    """The program did something wrong."""


def wait_until(condition, seconds):
    """Seconds until the condition holds; None if `seconds` are not enough."""
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
        """The environment of each process when it was started, by its number. Zombies do not count."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            words, state = read(f"/proc/{pid}/environ").split(b"\0"), read(f"/proc/{pid}/stat").rsplit(b")", 1)[-1]
            if f"{MARKER}={self.marker}".encode() in words and state[1:2] != b"Z":
                found[int(pid)] = dict(word.decode(errors="replace").split("=", 1) for word in words if b"=" in word)
        return found

    def ranks(self, program):
        """The number of the process of this name, by rank. Wrappers around it do not count."""
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


class NotHere(Exception):
    """This machine does not let two hosts be made; the text says why."""


def command(*words):
    try:
        result = subprocess.run(words, capture_output=True, text=True)
    except OSError as error:
        raise NotHere(f"{words[0]}: {error.strerror}") from error
    if result.returncode != 0:
        raise NotHere(f"{' '.join(words)}: {(result.stderr or result.stdout).strip()}")


def enter_user_namespace():
    """Starts again as root of namespaces of its own if the user is not root and the kernel allows that."""
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
        self.work, self.agent = work, pathlib.Path(work) / "launch_agent.sh"
        try:
            self.make(rate)
        except NotHere:
            self.close()
            raise

    def make(self, rate):
        first, second = self.namespaces
        command("ip", "netns", "add", first)
        command("ip", "netns", "add", second)
        command(*f"ip link add link0 netns {first} type veth peer name link0 netns {second}".split())
        for namespace, address in zip(self.namespaces, ADDRESSES):
            inside = ["ip", "-n", namespace]
            command(*inside, "address", "add", f"{address}/24", "dev", "link0")
            command(*inside, "link", "set", "lo", "up")
            command(*inside, "link", "set", "link0", "up")
            command("tc", "-n", namespace, *"qdisc add dev link0 root tbf burst 256kb latency 50ms rate".split(), rate)
        self.agent.write_text(LAUNCH_AGENT.format(namespace=second))
        self.agent.chmod(0o755)

    def mpirun(self, per_host=1):
        """The line in front of a rank's own."""
        hosts = ",".join(f"{address}:{per_host}" for address in ADDRESSES)
        return ["ip", "netns", "exec", self.namespaces[0], "unshare", "--uts", "sh", "-c",
                'hostname first-host; exec "$@"', "sh", "mpirun", "-np", 2 * per_host, "--host", hosts,
                *"--map-by slot --bind-to none --mca btl tcp,self,vader --mca btl_tcp_if_include 10.77.0.0/24 "
                "--mca oob_tcp_if_include 10.77.0.0/24".split(), "--mca", "plm_rsh_agent", self.agent,
                "--mca", "orte_tmpdir_base", self.work]

    def link(self, state):
        """Sets the link up or down."""
        command("ip", "-n", self.namespaces[0], "link", "set", "link0", state)

    def close(self):
        for namespace in self.namespaces:
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True)
