"""Identifying a data set's files, and dropping them from the page cache."""

import ctypes
import mmap
import os
import tempfile
import unittest
from unittest import mock

from analysis_case import file_system_drops, make_files
from penstock import _analysis_files, _analysis_storage
from penstock._analysis_files import (Notes, Watcher, drop, held_files,
                                      is_data, sample_files)

LARGE = 1 << 17


def cached_pages(path):
    """Number of pages of a file in the page cache, by mincore()."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(path, "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    pages = -(-len(memory) // mmap.PAGESIZE)
    state = (ctypes.c_ubyte * pages)()
    view = ctypes.c_char.from_buffer(memory)
    begin = ctypes.c_void_p(ctypes.addressof(view))
    failed = libc.mincore(begin, ctypes.c_size_t(len(memory)), state)
    del view
    memory.close()
    assert failed == 0
    return sum(page & 1 for page in state)


class FolderCase(unittest.TestCase):
    def setUp(self):
        self.folder = make_files(2, LARGE)
        self.addCleanup(self.folder.cleanup)
        self.paths = [os.path.join(self.folder.name, name)
                      for name in sorted(os.listdir(self.folder.name))]


class DropTest(FolderCase):
    def test_a_file_is_taken_out_of_the_page_cache(self):
        if not file_system_drops(self.folder.name):
            self.skipTest("SKIPPED: this file system does not drop files")
        for path in self.paths:
            with open(path, "rb") as file:
                file.read()
        self.assertEqual(cached_pages(self.paths[0]), LARGE // 4096)
        self.assertEqual(drop(self.paths[0]), LARGE)
        self.assertEqual(cached_pages(self.paths[0]), 0)
        self.assertEqual(cached_pages(self.paths[1]), LARGE // 4096)

    def test_what_is_no_regular_file_is_left_alone(self):
        pipe = os.path.join(self.folder.name, "pipe")
        os.mkfifo(pipe)
        for path in (pipe, self.folder.name, "/dev/null", "/nowhere", "a\0b"):
            self.assertEqual(drop(path), 0)

    def test_the_memory_rate_is_of_what_was_read_before(self):
        rate = _analysis_storage.memory_bytes_per_s(self.paths)
        self.assertGreater(rate, 1e7)
        self.assertIsNone(_analysis_storage.memory_bytes_per_s([]))
        self.assertIsNone(_analysis_storage.memory_bytes_per_s(["/nowhere"]))


class DataTest(FolderCase):
    def test_code_and_the_machines_own_files_are_no_data(self):
        for path in ("/data/a.jpg", "/home/etc/a", "/usr/share/data/1.tar"):
            self.assertTrue(is_data(path), path)
        for path in ("/data/set.py", "/data/set.cpython-311.pyc", "/x/lib.so",
                     "/x/lib.so.6", "/x/site-packages/torch/table",
                     "/usr/lib/python3/dist-packages/PIL/x", "/proc/self/maps",
                     "/sys/x", "/dev/shm/x", "/etc/localtime"):
            self.assertFalse(is_data(path), path)

    def test_only_files_that_a_sample_reads_are_dropped(self):
        watcher = Watcher()
        notes = Notes(0)
        code = os.path.join(self.folder.name, "code.py")
        new = os.path.join(self.folder.name, "new")
        with mock.patch.object(_analysis_files, "drop") as dropped:
            for path, drops in zip(self.paths, (False, True)):
                watcher.begin(notes, drops)
                open(path, "rb").close()
                open(path, "rb").close()
            for path in (code, new):
                open(path, "w").close()
            open(code).close()
            os.close(os.open(self.folder.name, os.O_RDONLY))
            watcher.end()
            open(self.paths[1], "rb").close()
        self.assertEqual(dropped.mock_calls, [mock.call(self.paths[1])])
        self.assertEqual(notes.paths(), self.paths)

    def test_files_that_are_held_open_or_mapped(self):
        small = os.path.join(self.folder.name, "small")
        with open(small, "w") as file:
            file.write("x")
        written, mapped = self.paths
        with (open(small), open(written, "r+b"), open(mapped, "rb") as file,
              mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)):
            self.assertEqual(held_files(), {mapped})
            file.close()  # the mapping stays
            self.assertEqual(held_files(), {mapped})
            with open(written, "rb"):
                self.assertEqual(held_files(os.getpid()), {mapped, written})
        self.assertEqual(held_files(), set())
        self.assertEqual(held_files(1 << 22), set())

    def test_file_systems_have_the_names_that_analyze_knows(self):
        table = ("1 2 0:1 / / rw - ext4 /dev/vda rw\n"
                 "2 1 0:2 / /data rw - nfs4 server:/ rw\n"
                 "3 1 0:3 / /data/over rw shared:1 - fuse.sshfs x rw\n"
                 "4 1 0:4 / /a\\040b rw - cifs x rw\n"
                 "5 1 0:5 / /tmp rw - tmpfs x rw\n")
        for path, kind in (("/data/x", "nfs"), ("/data/over/x", "fuse"),
                           ("/a b/x", "smb"), ("/database", "ext4"),
                           ("/tmp/x", "tmpfs")):
            # A new object each time: it is read to its end.
            opened = mock.mock_open(read_data=table)
            with mock.patch.object(_analysis_storage, "open", opened,
                                   create=True):
                self.assertEqual(_analysis_storage.filesystem(path), kind)
                why = _analysis_storage.why_not_cold(path)
            self.assertEqual(bool(why), kind in ("ext4", "tmpfs"), why)

    def test_files_of_samples(self):
        from penstock._analysis_files import sample_files

        class Listed:
            def __init__(self, **attributes):
                self.__dict__.update(attributes)

            def __len__(self):
                return 2

        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in "ab"]
            for path in paths:
                open(path, "w").close()
            for dataset in (
                Listed(files=paths), Listed(imgs=[(p, 1) for p in paths]),
                Listed(root=folder, names=["a", "b"]),
            ):
                self.assertEqual(sample_files(dataset)(1), paths[1])
            inner = Listed(files=paths)
            part = Listed(dataset=inner, indices=[1, 0])
            self.assertEqual(sample_files(part)(0), paths[1])
            both = Listed(datasets=[Listed(), inner], cumulative_sizes=[2, 4])
            self.assertEqual(sample_files(both)(2), paths[0])
            self.assertIsNone(sample_files(both)(1))
            for dataset in (
                None, 5, [1, 2], Listed(), Listed(files=paths[:1]),
                Listed(labels=["cat", "dog"]), Listed(files=["a", 3]),
            ):
                self.assertIsNone(sample_files(dataset))


if __name__ == "__main__":
    unittest.main()
