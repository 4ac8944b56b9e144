"""A folder, and penstock-slow-tier's mount of it. The tests are skipped if
mounting is not possible."""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = (pathlib.Path(os.environ["PENSTOCK_BUILD_DIR"]) / "bin" /
           "penstock-slow-tier")
SKIPPED = 77


def reason_to_skip():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "needs /dev/fuse"
    if os.geteuid() != 0 and not shutil.which("fusermount3"):
        return "needs fusermount3, or root"
    return None


def mounts():
    """Mount points of this namespace."""
    return [line.split()[4] for line in
            pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]


def write_random(path, size):
    path.write_bytes(random.Random(str(path.name)).randbytes(size))


@contextlib.contextmanager
def opened(path, flags=os.O_RDONLY):
    """Opens a file, and closes it before the mount ends: close() needs the
    mount."""
    fd = os.open(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


class Tier:
    """A running mount; at the block's end it is ended and, if necessary,
    unmounted."""

    def __init__(self, source, mountpoint, *options):
        self.mountpoint = mountpoint
        # In the foreground it is a child process, whose end can be awaited.
        self.process = subprocess.Popen(
            [PROGRAM, *options, "--foreground", source, mountpoint],
            stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        # A check of the mount itself would take its latency.
        while str(self.mountpoint) not in mounts():
            if self.process.poll() is not None:
                raise AssertionError(self.process.stderr.read())
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, number=signal.SIGTERM):
        """Ends the mount; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            subprocess.run(["umount", "-l", self.mountpoint], check=False)
            raise
        finally:
            self.process.stderr.close()


class SlowCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-slow-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.source = self.folder / "source"
        self.mountpoint = self.folder / "mount"
        self.source.mkdir()
        self.mountpoint.mkdir()

    def tier(self, *options):
        return Tier(self.source, self.mountpoint, *options)


def main():
    reason = reason_to_skip()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
