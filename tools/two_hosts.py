"""Two hosts that are none: two network namespaces of this machine, joined by a link of limited bandwidth. No tool by
itself. Open MPI starts the second host's daemon through a script that enters its namespace, so everything but the wire
is as on two machines. Needs root or a kernel that lets users have namespaces, `ip` and `tc` (iproute2), veth and tbf.
"""
import os
import pathlib
import subprocess
import sys

ADDRESSES = ["10.77.0.1", "10.77.0.2"]  # in namespaces of their own: no other start can meet them
SKIPPED = 77  # exit code of tests where this machine lacks something
LAUNCH_AGENT = """#!/bin/sh
# Called by mpirun in place of ssh: HOST COMMAND...
shift
exec ip netns exec {namespace} unshare --uts sh -c "hostname second-host; $*"
"""


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
        """Up or down."""
        command("ip", "-n", self.namespaces[0], "link", "set", "link0", state)

    def close(self):
        for namespace in self.namespaces:
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True)
