"""Nodes with a network namespace each, joined by a bridge. The kernel limits
the rate of each node's link in both directions. Use it inside a cage (cage.py):

    bridge -- port of the first node: tbf -- eth0 of the first node: tbf
      `------ ...
"""

import dataclasses
import pathlib
import subprocess

from bench.program import BenchError, run

NETWORK = "10.78.0"

# Prints "ready" after the steps that need no other node.
NODE = """
echo "$1" >/proc/sys/kernel/hostname
ip link set lo up
echo ready
exec sleep infinity
"""

# mpirun starts a node's daemon with it: AGENT ADDRESS COMMAND...
AGENT = """#!/bin/sh
pid=$(cat "$0.$1")
shift
exec nsenter --net=/proc/$pid/ns/net --uts=/proc/$pid/ns/uts sh -c "$*"
"""


@dataclasses.dataclass(frozen=True)
class Link:
    """A link with a token bucket and a queue.

    The bucket holds more than a 64 KiB segment, which is sent whole. It also
    holds the link's traffic of a millisecond at 1 Gb/s. The queue is that of a
    mid-size switch."""
    name: str
    bits_per_s: float
    bucket: str = "128kb"
    queue: str = "2mb"


LINKS = {"1g": Link("1g", 1e9), "10g": Link("10g", 1e10, "256kb")}


class Network:
    def __init__(self, folder, nodes, link):
        """folder: for the agent and its files."""
        self._agent = pathlib.Path(folder, "agent")
        self._count = nodes
        self._link = link
        self._keepers = []  # processes that keep the nodes' namespaces alive
        self.addresses = [f"{NETWORK}.{1 + node}" for node in range(nodes)]

    def __enter__(self):
        try:
            self._make()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_):
        self._remove()

    @property
    def environment(self):
        """Settings of Open MPI, whose ranks use only TCP."""
        return {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp",
                "OMPI_MCA_btl_tcp_if_include": f"{NETWORK}.0/24",
                "OMPI_MCA_oob_tcp_if_include": f"{NETWORK}.0/24",
                "OMPI_MCA_plm_rsh_agent": str(self._agent)}

    def _make(self):
        run("ip", "link", "add", "br0", "type", "bridge")
        run("ip", "address", "add", f"{NETWORK}.254/24", "dev", "br0")
        run("ip", "link", "set", "br0", "up")
        self._agent.write_text(AGENT, "ascii")
        self._agent.chmod(0o700)
        for node, address in enumerate(self.addresses):
            self._add_node(node, address)

    def _add_node(self, node, address):
        keeper = subprocess.Popen(
            ["unshare", "--net", "--uts", "sh", "-e", "-c", NODE, "node",
             f"node{node}"], stdout=subprocess.PIPE, text=True)
        self._keepers.append(keeper)
        if keeper.stdout.readline() != "ready\n":
            raise BenchError("unshare --net --uts: see above")
        port, inside = f"port{node}", ["nsenter",
                                       f"--net=/proc/{keeper.pid}/ns/net"]
        run("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0",
            "netns", keeper.pid)
        run("ip", "link", "set", port, "master", "br0", "up")
        run(*inside, "ip", "address", "add", f"{address}/24", "dev", "eth0")
        run(*inside, "ip", "link", "set", "eth0", "up")
        run(*self._limit(port))
        run(*inside, *self._limit("eth0"))
        pathlib.Path(f"{self._agent}.{address}").write_text(
            str(keeper.pid), "ascii")

    def _limit(self, device):
        return ["tc", "qdisc", "add", "dev", device, "root", "tbf", "rate",
                f"{self._link.bits_per_s:.0f}bit", "burst", self._link.bucket,
                "limit", self._link.queue]

    def _remove(self):
        for keeper in self._keepers:
            keeper.kill()
            keeper.wait()
        for device in [f"port{node}" for node in range(self._count)] + ["br0"]:
            subprocess.run(["ip", "link", "delete", device],
                           capture_output=True, check=False)
