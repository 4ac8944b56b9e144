"""A job's nodes that each cache a part of its data: their later reads from
storage, by the library's count and by the kernel's, also after one node is
killed. Each node has its own namespaces and disk (separate_nodes.py)."""

import pathlib
import random
import sys
import tempfile
import unittest

import cluster_case
import embedded
import node_training
import separate_nodes

sys.path.append(str(embedded.ROOT))

from bench.demo.data import make_ext4  # noqa: E402

RECORDS = 2000
RECORD_BYTES = 3 * 64 * 64
DATA_BYTES = RECORDS * RECORD_BYTES
# A node's part is not exactly half: allow four standard deviations.
CACHE_BYTES = int(DATA_BYTES * 0.55)
MEMORY_BYTES = 256 << 20
NODES = 2
EPOCHS = 3


def make_image(folder):
    content = pathlib.Path(folder, "content")
    content.mkdir()
    (content / "records.bin").write_bytes(
        random.Random(7).randbytes(DATA_BYTES))
    image = pathlib.Path(folder, "disk.img")
    make_ext4(content, image)
    return image


@unittest.skipIf(separate_nodes.missing(),
                 f"SKIPPED: {separate_nodes.missing()}")
class CacheNodes(cluster_case.ClusterCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.cluster = separate_nodes.SeparateNodes(
                nodes=NODES, image=make_image(folder), plugin=False,
                memory_bytes=MEMORY_BYTES)
            cls.addClassCleanup(cls.cluster.stop)
            cls.cluster.start()

    def training(self, *words):
        return node_training.NodeTraining(
            self.cluster, "--data", self.cluster.data / "records.bin",
            "--record-bytes", RECORD_BYTES, "--cache", CACHE_BYTES, *words)

    def read(self):
        return [self.cluster.bytes_read(name) for name in self.cluster.nodes]

    def test_nothing_is_read_after_the_first_epoch(self):
        with self.training("--cache-peers", "auto") as training:
            first = training.step("--epochs", "1")
            later = training.step("--epochs", "3")
        # Some node read each sample from storage, except for the few samples
        # that were cached when the step began.
        read = [rank.library_read_bytes for rank in first]
        self.assertGreater(sum(read), 0.9 * DATA_BYTES)
        for rank in first:
            self.assertGreaterEqual(rank.group_read_bytes,
                                    rank.library_read_bytes)
        for rank in later:
            self.assertEqual(rank.samples, 3 * RECORDS)
            self.assertEqual(rank.cached, 3 * RECORDS)
            self.assertGreater(rank.peer, RECORDS)
            self.assertEqual(rank.broken, 0)
            self.assertEqual(rank.library_read_bytes, 0)
            self.assertEqual(rank.group_read_bytes, 0)

    def test_alone_a_node_reads_what_its_cache_has_no_room_for(self):
        with self.training() as training:
            training.step("--epochs", "1")
            found = training.step("--epochs", "1")
        for rank in found:
            self.assertEqual(rank.peer, 0)
            self.assertAlmostEqual(
                rank.library_read_bytes / (DATA_BYTES - CACHE_BYTES), 1,
                delta=0.01)
            self.assertGreaterEqual(rank.group_read_bytes,
                                    rank.library_read_bytes)

    def test_a_node_is_killed_in_mid_epoch(self):
        """All its processes are killed: no other process serves its cache
        then."""
        with self.training("--cache-peers", "auto") as training:
            training.step("--epochs", "1")
            before = self.read()
            step = training.start("--epochs", EPOCHS,
                                  "--accelerator-s-per-sample", "0.001")
            self.cluster._wait("all to be in an epoch", lambda: min(map(
                step.samples, range(NODES))) > RECORDS / 2, 30)
            self.assertEqual(self.read(), before)
            at_kill = step.samples(0)
            training.kill_keeper(1)
            step.kill(1)
            self.assertIn("Killed", step.end().stderr)
            rank = step.rank(0)
        left = EPOCHS - at_kill / RECORDS
        self.assertGreater(left, 1)
        self.assertEqual(rank.samples, EPOCHS * RECORDS)
        self.assertEqual(rank.broken, 0)
        # The other node's samples come from storage, its own from memory.
        read = rank.library_read_bytes / DATA_BYTES
        self.assertGreater(read, 0.45 * (left - 0.5))
        self.assertLess(read, 0.55 * left)
        self.assertGreaterEqual(rank.group_read_bytes,
                                rank.library_read_bytes)
        self.assertEqual(self.read()[1], before[1])


if __name__ == "__main__":
    cluster_case.main()
