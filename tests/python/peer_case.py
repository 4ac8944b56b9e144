"""Processes that stand for nodes on loopback: each with its own tmpfs folder
for its cache, all with one private munged."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from loader_case import LoaderCase

RECORDS = 400
TENSOR_BYTES = 1000
NODES = ("127.0.0.2", "127.0.0.3")
# A node's part is not exactly half; no cache has room for all samples.
CACHE_BYTES = RECORDS * 1024 * 65 // 100
WAIT_S = 50  # a node that was contacted too early is skipped for a while

# libmunge looks for munged only at this path.
ENTER = """
mount -t tmpfs run /run
mkdir /run/munge
ln -s "$1" /run/munge/munge.socket.2
shift
exec "$@"
"""

# Makes a loader for each input line, and prints that loader's counters.
NODE = """
import json, logging, sys
from penstock.loader import Loader, SampleCache, SharedLoader, open_dataset
from peer_case import CACHE_BYTES, check
logging.basicConfig(level=logging.WARNING)
data = open_dataset(sys.argv[1], record_bytes=int(sys.argv[2]), label_bytes=1)
group = int(sys.argv[4]) if len(sys.argv) > 4 else None
cache = SampleCache(data, size=CACHE_BYTES, group=group)
loaders = []
for line in sys.stdin:
    kind, *words = line.split()
    if kind == "cached":
        print(len(cache), flush=True)
        continue
    options = {"cache": cache, "cache_peers": sys.argv[3], "seed": 1}
    if kind == "SharedLoader":
        options["share"] = f"peers{len(loaders)}"
    loaders.append(globals()[kind](data, 16, **options))
    for _ in range(int(words[0])):
        check(loaders[-1])
    print(json.dumps(loaders[-1].counters()), flush=True)
"""


def missing():
    """The reason why such nodes are not possible here, or ""."""
    for program in ("munged", "setpriv", "unshare"):
        if shutil.which(program, path="/usr/sbin:/usr/bin:/sbin") is None:
            return f"{program} is not installed"
    entered = subprocess.run(["unshare", "--mount", "true"],
                             stderr=subprocess.DEVNULL)
    return "only root can mount" if entered.returncode != 0 else ""


def check(loader):
    """An epoch has all samples, each with the right content."""
    seen = []
    for batch in loader:
        for i, image, label in zip(batch.indices, *batch, strict=True):
            if not (image == i % 251).all() or label != i % 256:
                raise AssertionError(f"sample {i} is wrong")
            seen.append(i)
    if sorted(seen) != list(range(RECORDS)):
        raise AssertionError("an epoch has not each sample once")


class Node:
    def __init__(self, process):
        self.process = process

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("a node has ended")
        return json.loads(line)


class PeerCase(LoaderCase):
    def setUp(self):
        super().setUp()
        self.data_path = os.path.join(self.folder, "data")
        Path(self.data_path).write_bytes(b"".join(
            bytes([i % 256]) + bytes([i % 251]) * TENSOR_BYTES
            for i in range(RECORDS)
        ))

    def start_munged(self):
        """Starts munged; returns its socket's path as soon as it answers."""
        folder = tempfile.mkdtemp(prefix="penstock-munge-", dir="/tmp")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o711)  # munged requires this for its socket
        key = Path(folder, "key")
        key.touch(0o600)
        key.write_bytes(os.urandom(128))
        path = f"{folder}/munge.sock"
        munged = subprocess.Popen(
            ["/usr/sbin/munged", "--foreground", f"--key-file={key}",
             f"--socket={path}", f"--pid-file={folder}/pid",
             f"--seed-file={folder}/seed"], stderr=subprocess.DEVNULL)
        self.addCleanup(munged.wait)
        self.addCleanup(munged.kill)

        def answers():
            with socket.socket(socket.AF_UNIX) as asked:
                return asked.connect_ex(path) == 0

        self.wait_until(answers)
        return path

    def start_node(self, name, munged, user=None, group=None):
        """user: the user that runs the node; group: the group of its cache."""
        base = tempfile.mkdtemp(prefix="penstock-test-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, base)
        become, words = [], [str(group)] if group is not None else []
        if user is not None:
            os.chmod(base, 0o1777)
            os.chmod(self.folder, 0o755)
            become = ["setpriv", f"--reuid={user}", f"--regid={group}",
                      "--clear-groups"]
        first = 20000 + os.getpid() % 500 * 20
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-e", "-c", ENTER, "sh", munged,
             *become, sys.executable, "-B", "-c", NODE, self.data_path,
             str(1 + TENSOR_BYTES), ",".join(NODES), *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env=os.environ | {
                "SLURMD_NODENAME": name,
                "PENSTOCK_CACHE_DIR": base,
                "PENSTOCK_CACHE_PORTS": f"{first}-{first + 19}",
            })

        def end():
            process.kill()
            process.communicate()

        self.addCleanup(end)
        return Node(process)

    def wait_until(self, is_so):
        end_s = time.monotonic() + WAIT_S
        while not is_so():
            self.assertLess(time.monotonic(), end_s)
            time.sleep(0.01)
