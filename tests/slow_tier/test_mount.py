"""penstock-slow-tier shows a folder unchanged, and leaves nothing behind."""

import errno
import mmap
import os
import shutil
import signal
import subprocess
import threading
import time
import unittest

import slow_case
from slow_case import PROGRAM, opened, write_random

QUICK = ("--latency", "100us", "--bandwidth", "1G")


def refused(*words):
    done = subprocess.run([PROGRAM, *words], text=True, capture_output=True,
                          timeout=20, check=False)
    return done.returncode, done.stderr


class Content(slow_case.SlowCase):
    def test_files_and_folders_are_as_in_the_source(self):
        (self.source / "a" / "b").mkdir(parents=True)
        write_random(self.source / "a" / "b" / "data", 3_000_001)
        (self.source / "a" / "empty").touch()
        os.symlink("b/data", self.source / "a" / "link")
        with self.tier(*QUICK):
            for path in ("a/b/data", "a/empty", "a/link"):
                self.assertEqual((self.mountpoint / path).read_bytes(),
                                 (self.source / path).read_bytes())
            self.assertEqual(sorted(os.listdir(self.mountpoint / "a")),
                             ["b", "empty", "link"])
            self.assertEqual(os.readlink(self.mountpoint / "a" / "link"),
                             "b/data")
            before = os.stat(self.source / "a" / "b" / "data")
            after = os.stat(self.mountpoint / "a" / "b" / "data")
            for field in ("st_size", "st_mode", "st_uid", "st_mtime_ns"):
                self.assertEqual(getattr(after, field),
                                 getattr(before, field))
            self.assertGreater(os.statvfs(self.mountpoint).f_blocks, 0)

    def test_names_that_programs_stumble_over(self):
        names = [b"-rf", b"a\nb", b"\xff\xfe", b" ", b"..x", b"n" * 255]
        for name in names:
            with open(os.path.join(os.fsencode(self.source), name), "wb") as it:
                it.write(name)
        with self.tier(*QUICK):
            place = os.fsencode(self.mountpoint)
            self.assertEqual(sorted(os.listdir(place)), sorted(names))
            for name in names:
                with open(os.path.join(place, name), "rb") as file:
                    self.assertEqual(file.read(), name)

    def test_a_folder_of_many_files_is_listed_once_each(self):
        names = {f"{i:05}" for i in range(3000)}
        for name in names:
            (self.source / name).touch()
        with self.tier(*QUICK):
            found = os.listdir(self.mountpoint)
        self.assertEqual((len(found), set(found)), (len(names), names))

    def test_direct_reads_of_any_place(self):
        write_random(self.source / "data", 2_500_000)
        data = (self.source / "data").read_bytes()
        with self.tier(*QUICK), opened(self.mountpoint / "data",
                                       os.O_RDONLY | os.O_DIRECT) as fd:
            buffer = mmap.mmap(-1, 4 << 20)  # aligned
            for offset in (0, 4096, 2_097_152, 2_496_000):
                got = os.preadv(fd, [buffer], offset)
                self.assertEqual(buffer[:got], data[offset:])
            # A kernel's file system would reject this one.
            self.assertEqual(os.pread(fd, 10, 12345), data[12345:12355])

    def test_a_file_that_is_missing_or_replaced(self):
        write_random(self.source / "data", 100_000)
        with self.tier(*QUICK):
            with self.assertRaises(FileNotFoundError):
                os.stat(self.mountpoint / "none")
            self.assertEqual(len((self.mountpoint / "data").read_bytes()),
                             100_000)
            write_random(self.source / "new", 50_000)
            os.rename(self.source / "new", self.source / "data")
            self.assertEqual((self.mountpoint / "data").read_bytes(),
                             (self.source / "data").read_bytes())

    def test_many_readers_at_once(self):
        for i in range(16):
            write_random(self.source / f"{i}", 400_000 + i)
        wrong = []

        def compare(name):
            for _ in range(5):
                found = (self.mountpoint / name).read_bytes()
                if found != (self.source / name).read_bytes():
                    wrong.append(name)

        with self.tier(*QUICK):
            threads = [threading.Thread(target=compare, args=(f"{i}",))
                       for i in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])


class ReadOnly(slow_case.SlowCase):
    def test_nothing_can_be_written(self):
        write_random(self.source / "data", 1000)
        with self.tier(*QUICK):
            for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC):
                with self.assertRaises(OSError) as caught:
                    os.open(self.mountpoint / "data", flags)
                self.assertEqual(caught.exception.errno, errno.EROFS)
            for change in (lambda: (self.mountpoint / "new").touch(),
                           lambda: (self.mountpoint / "new").mkdir(),
                           lambda: (self.mountpoint / "data").unlink(),
                           lambda: os.chmod(self.mountpoint / "data", 0)):
                with self.assertRaises(OSError) as caught:
                    change()
                self.assertEqual(caught.exception.errno, errno.EROFS)


class End(slow_case.SlowCase):
    def check_gone(self):
        self.assertNotIn(str(self.mountpoint), slow_case.mounts())
        self.assertEqual(os.listdir(self.mountpoint), [])

    def test_signals_unmount(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            tier = self.tier()
            with tier:
                self.assertIn(str(self.mountpoint), slow_case.mounts())
                self.assertEqual(tier.end(number), 0)
            self.check_gone()

    def test_a_signal_while_a_file_is_read(self):
        write_random(self.source / "data", 1_000_000)
        tier = self.tier("--latency", "3600s")
        with tier:
            reader = subprocess.Popen(["cat", self.mountpoint / "data"],
                                      stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            time.sleep(0.3)  # it waits by then
            self.assertIsNone(reader.poll())
            self.assertEqual(tier.end(), 0)
            reader.wait(timeout=20)
        self.check_gone()

    def test_an_unmount_ends_it(self):
        with self.tier() as tier:
            command = (["umount"] if os.geteuid() == 0
                       else ["fusermount3", "-u"])
            subprocess.run([*command, self.mountpoint], check=True)
            self.assertEqual(tier.process.wait(timeout=20), 0)
        self.check_gone()

    def test_in_the_background_it_returns_when_the_mount_is_there(self):
        write_random(self.source / "data", 1000)
        subprocess.run([PROGRAM, self.source, self.mountpoint], check=True,
                       timeout=20)
        try:
            self.assertEqual((self.mountpoint / "data").read_bytes(),
                             (self.source / "data").read_bytes())
        finally:
            subprocess.run(["umount" if os.geteuid() == 0 else "fusermount3",
                            *(() if os.geteuid() == 0 else ("-u",)),
                            self.mountpoint], check=True)
        self.check_gone()


class Refused(slow_case.SlowCase):
    def test_bad_amounts(self):
        code, text = refused("--latency", "2", self.source, self.mountpoint)
        self.assertEqual(code, 2)
        self.assertIn('--latency: "2" is not a time', text)
        code, text = refused("--bandwidth", "0", self.source, self.mountpoint)
        self.assertEqual(code, 2)
        self.assertIn('--bandwidth: "0" is not a rate', text)

    def test_bad_places(self):
        none = self.folder / "none"
        code, text = refused(none, self.mountpoint)
        self.assertEqual(code, 1)
        self.assertIn(f"{none}: No such file or directory", text)
        code, text = refused(self.source, none)
        self.assertEqual(code, 1)
        self.assertIn(f"{none}: No such file or directory", text)
        file = self.folder / "file"
        file.touch()
        code, text = refused(file, self.mountpoint)
        self.assertEqual(code, 1)
        self.assertIn(f"{file}: Not a directory", text)
        code, text = refused(self.source, file)
        self.assertEqual(code, 1)
        self.assertIn(f"{file}: Not a directory", text)

    def test_a_mount_below_its_own_source(self):
        code, text = refused(self.folder, self.mountpoint)
        self.assertEqual(code, 1)
        self.assertIn(f"{self.mountpoint} is below {self.folder}", text)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("fusermount3"),
                     "needs root, to be somebody else, and fusermount3")
class WithoutRoot(slow_case.SlowCase):
    NOBODY = 65534

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        # The build may be below a folder that only root can access.
        self.program = shutil.copy(PROGRAM, self.folder)

    def run_as_nobody(self, *words):
        return subprocess.run([*words], user=self.NOBODY, group=self.NOBODY,
                              extra_groups=[], text=True, capture_output=True,
                              timeout=20, check=False)

    @unittest.skipUnless(os.path.exists("/dev/fuse")
                         and os.stat("/dev/fuse").st_mode & 0o006 == 0o006,
                         "needs a /dev/fuse for everybody, as udev makes it")
    def test_a_user_mounts_and_reads(self):
        write_random(self.source / "data", 10_000)
        os.chown(self.mountpoint, self.NOBODY, self.NOBODY)
        done = self.run_as_nobody(self.program, self.source, self.mountpoint)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_as_nobody("cmp", self.source / "data",
                                  self.mountpoint / "data")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_as_nobody("fusermount3", "-u", self.mountpoint)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_place_that_is_not_the_users(self):
        done = self.run_as_nobody(self.program, self.source, self.mountpoint)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"cannot mount at {self.mountpoint}", done.stderr)


if __name__ == "__main__":
    slow_case.main()
