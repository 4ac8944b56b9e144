"""A failing device: a loop device's file is truncated to a half, so that the
kernel answers reads of the rest with EIO. Needs root."""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from mpi_case import MPIEXEC, RANKS, environment

BENCH = os.environ["LMDB_BENCH"]
IMAGE_BYTES = 32 << 20
RANK_COUNT = 4


def call(*command):
    with environment() as env:
        subprocess.run(command, check=True, timeout=60, env=env,
                       stdout=subprocess.DEVNULL)


@unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/dev/loop-control"),
                     "SKIPPED: needs root and loop devices")
class Device(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        # In another mount namespace a copy of the mount would keep the file
        # system and its cache beyond umount.
        clone_newns = 0x20000
        if ctypes.CDLL(None, use_errno=True).unshare(clone_newns) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        call("mount", "--make-rprivate", "/")

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        self.whole = pathlib.Path(folder.name, "whole")
        self.image = pathlib.Path(folder.name, "image")
        self.mountpoint = pathlib.Path(folder.name, "mounted")
        self.mountpoint.mkdir()
        self.database = self.mountpoint / "data.mdb"
        self.whole.touch()
        os.truncate(self.whole, IMAGE_BYTES)
        call("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", self.whole)
        try:
            call("mount", "-o", "loop", self.whole, self.mountpoint)
        except subprocess.CalledProcessError:
            self.skipTest("SKIPPED: no loop device can be mounted here")
        call("umount", self.mountpoint)
        with self.mounted(self.whole):
            call(MPIEXEC, "-n", "1", RANKS, "make", self.database)
            last = self.database.read_bytes()[-4096:]
        # Offset of the database's last block in the image.
        self.end = self.whole.read_bytes().find(last)
        self.assertGreater(self.end, IMAGE_BYTES // 4)

    @contextlib.contextmanager
    def mounted(self, image):
        """Mounts the image with an empty page cache."""
        call("mount", "-o", "loop", image, self.mountpoint)
        try:
            yield
        finally:
            call("umount", self.mountpoint)

    def read(self, *words):
        with environment() as env:
            done = subprocess.run(
                [MPIEXEC, "-n", str(RANK_COUNT), BENCH, self.database,
                 "--batch", "5", *words], env=env, text=True, timeout=60,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines()
                 if line.startswith("{")]
        self.assertEqual(sorted(line["rank"] for line in lines),
                         list(range(RANK_COUNT)), done.stdout + done.stderr)
        return lines

    def test_every_rank_gets_the_error(self):
        for words in (["--switches", "lmm,dm,dio,prov,coal", "--direct", "on"],
                      ["--switches", "lmm,dm,dio,coal", "--direct", "off"],
                      ["--switches", "lmm,dm,dio,prov,coal", "--shuffle"],
                      ["--switches", "lmm,dm,prov"],
                      ["--switches", "lmm,dm,prov", "--copies"]):
            with self.subTest(words=words):
                shutil.copy(self.whole, self.image)
                with self.mounted(self.image):
                    records = [line["records"] for line in self.read(*words)]
                self.assertEqual(sum(records), 1201)
                with self.mounted(self.image):
                    os.truncate(self.image, IMAGE_BYTES // 4)
                    for line in self.read(*words):
                        self.assertIn("error", line)
                        self.assertRegex(line["error"], "Input/output error")

    def test_a_failed_block_is_an_error_for_both_reading_threads(self):
        """Both reading threads have records in the failing blocks."""
        for seed in range(20):
            with self.subTest(seed=seed):
                shutil.copy(self.whole, self.image)
                with self.mounted(self.image):
                    os.truncate(self.image, self.end - (256 << 10))
                    for line in self.read("--shuffle", "--seed", str(seed)):
                        self.assertRegex(line["error"], "Input/output error")


if __name__ == "__main__":
    unittest.main()
