"""Nodes with their own namespaces, disks and groups: they share none of
these, and leave nothing behind."""

import glob
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import cluster_case
import embedded
import janitor
import separate_nodes
import test_embedded

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(embedded.ROOT))

from bench.demo.data import make_ext4  # noqa: E402

FILE_BYTES = 8 << 20
LIMIT_BYTES_PER_S = 4 << 20
MEMORY_BYTES = 64 << 20

# A program with a job on two nodes; then it only waits.
VICTIM = """
import signal
import sys
sys.path.insert(0, {here!r})
signal.signal(signal.SIGINT, signal.default_int_handler)
import separate_nodes
with separate_nodes.SeparateNodes(
        nodes=2, image={image!r}, memory_bytes=1 << 28,
        plugin=False) as cluster:
    job = cluster.sbatch(["srun", "sleep", "1000"], gpus=0, flags=["--nodes=2"])
    cluster.wait_job(job, "RUNNING")
    print(cluster.node, cluster.directory, cluster.user, cluster._janitor.pid,
          flush=True)
    sys.stdin.read()
"""


def leftovers(node, directory, user):
    found = test_embedded.leftovers(node, directory, user)
    for backing in glob.glob("/sys/block/loop*/loop/backing_file"):
        try:
            if pathlib.Path(backing).read_text("utf-8").startswith(
                    f"{directory}/"):
                found.append(backing)
        except OSError:
            pass  # the mount was detached in between
    return found


def has_ended(pid):
    """Whether the process has ended, or is a zombie."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text("utf-8")
    except OSError:
        return True
    return "State:\tZ" in status


class SeparateCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        content = pathlib.Path(folder.name, "content")
        content.mkdir()
        (content / "file").write_bytes(os.urandom(FILE_BYTES))
        cls.image = pathlib.Path(folder.name, "disk.img")
        make_ext4(content, cls.image)

    def make(self, **more):
        return separate_nodes.SeparateNodes(
            nodes=2, plugin=False, **{
                "image": self.image, "memory_bytes": MEMORY_BYTES, **more})


@unittest.skipIf(separate_nodes.missing(),
                 f"SKIPPED: {separate_nodes.missing()}")
class LeavesNothing(SeparateCase):
    def check_gone(self, names):
        gone = janitor.wait_until(lambda: not leftovers(*names), 30)
        self.assertTrue(gone, leftovers(*names))

    def kill_victim(self, number, with_janitor=False):
        """Kills the victim; returns its names."""
        text = VICTIM.format(here=str(HERE), image=str(self.image))
        with subprocess.Popen([sys.executable, "-c", text],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as victim:
            *names, keeper = victim.stdout.readline().split()
            self.assertEqual(len(names), 3)
            self.assertTrue(leftovers(*names))
            if with_janitor:
                os.kill(int(keeper), signal.SIGKILL)
                # The victim holds the slot until then.
                self.assertTrue(janitor.wait_until(
                    lambda: has_ended(keeper), 10))
            victim.send_signal(number)
            victim.wait(timeout=60)
            self.assertNotEqual(victim.returncode, 0)
        return names

    def test_after_signals(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            with self.subTest(number=number):
                self.check_gone(self.kill_victim(number))

    def test_the_next_one_sweeps_what_two_killed_ones_left(self):
        names = self.kill_victim(signal.SIGKILL, with_janitor=True)
        self.assertTrue(leftovers(*names))
        with self.make() as cluster:
            self.assertEqual(cluster.node, names[0])
            self.assertFalse(os.path.exists(names[1]))
            self.assertEqual(
                [path for path in leftovers(*names) if names[1] in path], [])
        self.check_gone(names)

    def test_after_a_failed_start(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(1 << 20))
            file.flush()
            cluster = self.make(image=file.name)
            names = cluster.node, cluster.directory, cluster.user
            with self.assertRaisesRegex(embedded.ClusterError,
                                        "space.*\\n.*\\nmount:"), cluster:
                pass
        self.assertEqual(leftovers(*names), [])


@unittest.skipIf(separate_nodes.missing(),
                 f"SKIPPED: {separate_nodes.missing()}")
class Separate(SeparateCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = cls.make(cls, read_bytes_per_s=LIMIT_BYTES_PER_S)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def on_both(self, script):
        """One line per node, from a shell on both."""
        done = self.cluster.srun(
            "sh", "-c", script, str(self.cluster.data), gpus=0,
            flags=["--nodes=2", "--ntasks=2", "--label"])
        self.assertEqual(done.returncode, 0, done.stderr)
        return sorted(done.stdout.splitlines())

    def test_namespaces_are_their_own(self):
        names = self.cluster.nodes
        for kind in ("net", "mnt"):
            found = {self.cluster.namespace(name, kind) for name in names}
            self.assertEqual(len(found | {os.readlink(
                f"/proc/self/ns/{kind}")}), 3)
        for path in ("/dev/shm", self.cluster.data):
            found = {self.cluster.in_node(name, path).stat().st_dev
                     for name in names}
            self.assertEqual(len(found), 2)

    def test_steps_are_in_them(self):
        lines = self.on_both("readlink /proc/self/ns/net; "
                             "readlink /proc/self/ns/mnt")
        wanted = [f"{rank}: {self.cluster.namespace(name, kind)}"
                  for rank, name in enumerate(self.cluster.nodes)
                  for kind in ("net", "mnt")]
        self.assertEqual(lines, sorted(wanted))

    def test_nodes_know_each_other_by_name_and_nobody_else(self):
        first, second = self.cluster.nodes
        lines = self.on_both(f"getent hosts {first} {second} | wc -l; "
                             "ip route | grep -c default || :")
        self.assertEqual(lines, ["0: 0", "0: 2", "1: 0", "1: 2"])

    def test_disks_are_alike(self):
        lines = self.on_both('stat -c "%i %Z %s" "$0/file"')
        self.assertEqual(lines[0].removeprefix("0: "),
                         lines[1].removeprefix("1: "))

    def test_reads_are_counted_and_limited_by_node(self):
        first, second = self.cluster.nodes
        for name in (first, second):
            self.assertTrue(self.cluster.reads_past_page_cache(name))
        before = [self.cluster.bytes_read(name) for name in (first, second)]
        lines = self.on_both(
            '[ "$SLURM_PROCID" = 1 ] || { begin=$(date +%s%N); '
            'dd if="$0/file" of=/dev/null bs=64k iflag=direct 2>/dev/null; '
            'echo $((($(date +%s%N) - begin) / 1000000)); }')
        read = [self.cluster.bytes_read(name) - so_far for name, so_far
                in zip((first, second), before)]
        self.assertGreaterEqual(read[0], FILE_BYTES)
        self.assertLess(read[0], FILE_BYTES + (1 << 20))
        self.assertEqual(read[1], 0)
        milliseconds = int(lines[0].removeprefix("0: "))
        self.assertGreater(milliseconds / 1000,
                           0.9 * FILE_BYTES / LIMIT_BYTES_PER_S)

    def test_memory_is_limited_by_node(self):
        done = self.cluster.srun(
            "dd", "if=/dev/zero", "of=/dev/shm/more", "bs=1M",
            f"count={2 * MEMORY_BYTES >> 20}", gpus=0,
            flags=[f"--nodelist={self.cluster.nodes[1]}"])
        self.addCleanup(lambda: self.cluster.in_node(
            self.cluster.nodes[1], "/dev/shm/more").unlink())
        self.assertNotEqual(done.returncode, 0)
        self.assertLess(self.cluster.memory_used(self.cluster.nodes[0]),
                        MEMORY_BYTES / 2)
        self.assertLessEqual(self.cluster.memory_used(self.cluster.nodes[1]),
                             MEMORY_BYTES)


if __name__ == "__main__":
    cluster_case.main()
