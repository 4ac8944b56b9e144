"""A real Slurm of several nodes that share as little of this machine as
possible. Each has a network namespace, a mount namespace with its own /dev/shm
and disk, and memory and blkio groups:

    slurmctld, srun: a bridge in a network namespace of its own
      |-- pair of virtual Ethernet devices -- slurmd of the first node
      `-- ...                                 loop device <- copy of the image

A disk is a loop device with a copy of one image, so that its files have the
same inodes and times on all nodes. It reads its copy with O_DIRECT: data read
by one node are not in another node's page cache. No traffic reaches the
machine's own network. The nodes share the CPUs and the PID namespace.

    with SeparateNodes(nodes=2, image=image, memory_bytes=1 << 28) as cluster:
        cluster.srun("ls", str(cluster.data), flags=["--nodes=2"])

The namespaces have no names. They exist as long as processes of the cluster's
cage, and mounts and devices as long as the namespaces. The groups have the
names of Slurm's own groups of a node. So the janitor's usual clean-up removes
all of them.
"""

import os
import pathlib
import shutil

import embedded
import embedded_nodes
import hierarchy
import slurm_files

NETWORK = "10.77.0."  # the bridge's subnet; reused in each namespace
UNLIMITED_BYTES_PER_S = 1 << 50

HUB = """
ip link set lo up
ip link add br0 type bridge
ip address add "$1/16" dev br0
ip link set br0 up
exec sleep infinity
"""

# The programs of munge and of the loader look for munged at its usual path.
NODE = """
mount -t tmpfs -o mode=1777,nosuid,nodev shm /dev/shm
mount -t tmpfs -o mode=755,nosuid,nodev run /run
mkdir /run/munge
ln -s "$1/munge.sock" /run/munge/munge.socket.2
mount --bind "$1/hosts" /etc/hosts
mount -t ext4 -o ro,loop,nosuid,nodev,noexec "$2" "$1/data"
device=$(findmnt -n -o SOURCE "$1/data")
losetup --direct-io=on "$device"
exec sleep infinity
"""

# The node's end of its pair.
ENDS = """
ip link set lo up
ip address add "$1/16" dev eth0
ip link set eth0 up
"""


def missing():
    """The reason why no such cluster can run here, as a sentence, or ""."""
    if hierarchy.UNIFIED:
        return "SeparateNodes count what nodes read with cgroup v1's blkio"
    for program in ("ip", "losetup", "nsenter", "unshare"):
        if shutil.which(program, path="/usr/sbin:/sbin:/usr/bin:/bin") is None:
            return f"{program} is not installed (tools/install-packages)"
    if not os.path.isdir(f"{hierarchy.ROOT}/blkio"):
        return f"no cgroup v1 controller blkio in {hierarchy.ROOT}"
    return embedded.missing()


class SeparateNodes(embedded_nodes.NodesCluster):
    """See the module's docstring. Penstock's daemons do not run.

    image             of ext4, with the data; not modified
    memory_bytes      limit of each node's jobs and /dev/shm
    read_bytes_per_s  limit of each node's disk
    other arguments are NodesCluster's; self.data is the data's path in jobs"""

    def __init__(self, *, image, memory_bytes,
                 read_bytes_per_s=UNLIMITED_BYTES_PER_S, **more):
        super().__init__(agent=False, controllers=0, **more)
        self._image = image
        self._memory_bytes = memory_bytes
        self._read_bytes_per_s = int(read_bytes_per_s)
        self._hub_pid = None
        self._pids = {}  # processes that keep a node's namespaces, by node
        self.data = pathlib.Path(self.directory, "data")

    def start(self):
        reason = missing()
        if reason:
            raise embedded.ClusterError(reason)
        super().start()

    # -- namespaces -----------------------------------------------------------

    def address(self, name):
        return f"{NETWORK}{self.nodes.index(name) + 2}"

    def _addresses(self):
        return [f"{NETWORK}1", *map(self.address, self.nodes)]

    def _make_directories(self):
        super()._make_directories()
        self.data.mkdir()
        for name in self.nodes:
            shutil.copyfile(self._image, f"{self.directory}/disk.{name}")
        own = pathlib.Path("/etc/hosts").read_text("utf-8")
        lines = [f"{self.address(name)} {name}" for name in self.nodes]
        slurm_files.write(f"{self.directory}/hosts",
                          "\n".join([own.rstrip("\n"), *lines, ""]))

    def _caged(self, argv):
        """Runs in the bridge's network, once it exists."""
        if self._hub_pid is not None:
            argv = ["nsenter", f"--net=/proc/{self._hub_pid}/ns/net", *argv]
        return super()._caged(argv)

    def _keep_namespaces(self, name, kinds, script, *arguments):
        """Starts a process with new namespaces, set up by the script."""
        self._start_daemon(name, "unshare", *kinds, "sh", "-e", "-c", script,
                           name, *arguments)
        pid = self.daemon_pid(name)
        self._wait(f"{name} to have its namespaces", lambda: pathlib.Path(
            f"/proc/{pid}/comm").read_text("utf-8") == "sleep\n",
            embedded.DAEMON_TIMEOUT_S, (name,))
        return pid

    def _must(self, *argv):
        done = self.command(*map(str, argv))
        if done.returncode != 0:
            raise embedded.ClusterError(f"{argv}: {done.stderr.strip()}")

    def _start_node(self, name):
        pid = self._keep_namespaces(
            f"space.{name}", ["--net", "--mount"], NODE, self.directory,
            f"{self.directory}/disk.{name}")
        self._pids[name] = pid
        # A device's name has at most 15 letters.
        end = f"port{self.nodes.index(name)}"
        self._must("ip", "link", "add", end, "type", "veth", "peer", "name",
                   "eth0", "netns", pid)
        self._must("ip", "link", "set", end, "master", "br0", "up")
        self._must("nsenter", f"--net=/proc/{pid}/ns/net", "sh", "-e", "-c",
                   ENDS, "ends", self.address(name))
        for group in (self._memory(name), self._blkio(name)):
            group.mkdir(exist_ok=True)
        (self._memory(name) / "memory.limit_in_bytes").write_text(
            str(self._memory_bytes), "ascii")
        self.limit_reads(name, self._read_bytes_per_s)

    def _start_slurm(self):
        self._hub_pid = self._keep_namespaces("bridge", ["--net"], HUB,
                                              f"{NETWORK}1")
        for name in self.nodes:
            self._start_node(name)
        super()._start_slurm()

    def _slurmd_argv(self, name):
        pid = self._pids[name]
        # Slurm puts tasks into the memory group. The daemon stays outside, or
        # would be killed when /dev/shm fills the group.
        enter = 'echo 0 >"$0/cgroup.procs"; exec "$@"'
        return ["sh", "-e", "-c", enter, self._blkio(name), "nsenter",
                f"--net=/proc/{pid}/ns/net", f"--mount=/proc/{pid}/ns/mnt",
                *super()._slurmd_argv(name)]

    # -- what a node has -------------------------------------------------------

    def _memory(self, name):
        return pathlib.Path(hierarchy.ROOT, "memory", f"slurm_{name}")

    def _blkio(self, name):
        return pathlib.Path(hierarchy.ROOT, "blkio", f"slurm_{name}")

    def namespace(self, name, kind):
        """Identifies the namespace: kind is "net" or "mnt"."""
        return os.readlink(f"/proc/{self._pids[name]}/ns/{kind}")

    def in_node(self, name, path):
        """A path in the node's mount namespace, seen from outside."""
        return pathlib.Path(f"/proc/{self._pids[name]}/root{path}")

    def _device(self, name):
        number = self.in_node(name, self.data).stat().st_dev
        return f"{os.major(number)}:{os.minor(number)}"

    def limit_reads(self, name, bytes_per_s):
        """Limits reads of the node's disk. Without a limit the kernel does
        not count."""
        (self._blkio(name) / "blkio.throttle.read_bps_device").write_text(
            f"{self._device(name)} {bytes_per_s}", "ascii")

    def bytes_read(self, name):
        """Bytes that the node's processes have read from its disk, as
        counted by the kernel."""
        text = (self._blkio(name) / "blkio.throttle.io_service_bytes"
                ).read_text("ascii")
        start = f"{self._device(name)} Read "
        return next((int(line.removeprefix(start)) for line in
                     text.splitlines() if line.startswith(start)), 0)

    def memory_used(self, name):
        return int((self._memory(name) / "memory.usage_in_bytes").read_text())

    def reads_past_page_cache(self, name):
        """Whether the node's disk reads the image with O_DIRECT."""
        return pathlib.Path(f"/sys/dev/block/{self._device(name)}/loop/dio"
                            ).read_text("ascii").strip() == "1"
