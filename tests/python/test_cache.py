"""penstock.loader.SampleCache, CachedDataset, and a Loader's cache=."""

import contextlib
import copy
import grp
import os
import pickle
import resource
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

import numpy
from cache_case import CacheCase, Counted
from loader_case import SIDE, penstock_loader

from penstock.loader import _cached_dataset


@contextlib.contextmanager
def no_larger(path):
    """No file can grow beyond the present size of this one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class SampleCacheTest(CacheCase):
    def test_what_is_put_in_comes_out(self):
        cache = self.cache()
        self.assertEqual((cache.samples, len(cache)), (10, 0))
        self.assertTrue(cache)
        self.assertIsNone(cache.get(3))
        for index, sample in ((3, b"three"), (4, bytearray(b"four")),
                              (5, memoryview(b"")), (3, b"again")):
            cache.put(index, sample)
        self.assertEqual([cache.get(i) for i in (3, 4, 5)],
                         [b"three", b"four", b""])
        self.assertEqual([i in cache for i in (-1, 2, 3, 10)],
                         [False, False, True, False])
        self.assertEqual(len(cache), 3)
        self.assertEqual(
            cache.counters(),
            {"hits": 3, "hit_bytes": 9, "misses": 4, "damaged": 0,
             "dropped": 0, "peer": 0, "peer_bytes": 0},
        )
        self.assertTrue(cache.path.startswith(self.base))
        self.assertTrue(cache.path.endswith(".cache"))

    def test_it_is_shared_and_goes_with_the_last_one(self):
        first = self.cache(name="mine")
        second = self.cache(name="mine")
        path = first.path
        self.assertEqual(second.path, path)
        first.put(1, b"one")
        del first
        self.assertEqual(second.get(1), b"one")
        del second
        self.assertFalse(os.path.exists(path))
        kept = self.cache(name="mine", keep=100)
        kept.put(1, b"one")
        del kept
        self.assertEqual(self.cache(name="mine").get(1), b"one")

    def test_its_size_is_kept_to(self):
        cache = self.cache(size=3 * 4096)
        for index in range(10):
            cache.put(index, bytes(4000))
        self.assertEqual(len(cache), 3)
        self.assertEqual([i in cache for i in range(4)], [True] * 3 + [False])

    def test_it_is_copied_pickled_and_forked(self):
        cache = self.cache(name="mine")
        cache.put(1, b"one")
        for other in (copy.copy(cache), pickle.loads(pickle.dumps(cache))):
            self.assertEqual(other.path, cache.path)
            self.assertEqual(other.get(1), b"one")
        child = os.fork()
        if child == 0:
            cache.put(2, b"two")
            os._exit(0 if cache.get(1) == b"one" else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(cache.get(2), b"two")

    def test_a_program_ends_with_a_cache_open(self):
        program = (
            "from penstock.loader import SampleCache\n"
            "a = SampleCache(samples=5, data='x', size=1 << 20)\n"
            "a.put(1, b'one')\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True,
            timeout=30,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(os.listdir(self.base), [])

    def test_values_that_are_not_allowed(self):
        data = self.records()
        for words, arguments, options in (
            ("is needed", (None,), {}),
            ("is needed", (None,), {"samples": 10, "data": ""}),
            ("not both", (data,), {"data": "x"}),
            ("size=0: allowed", (data,), {"size": 0}),
            ("size='most': allowed", (data,), {"size": "most"}),
            ("keep=-1: allowed", (data,), {"keep": -1}),
            ("keep=604801: allowed", (data,), {"keep": 604801}),
            ("name .*letters", (data,), {"name": "a/b"}),
            ("there is no such group", (data,), {"group": "no such"}),
            ("name=''.*letters", (data,), {"name": ""}),
            ("name='\\\\udc80'.*letters", (data,), {"name": "\udc80"}),
            ("group=-1: allowed", (data,), {"group": -1}),
            ("group=4294967295: allowed", (data,), {"group": 2**32 - 1}),
            ("group=18446.*: allowed", (data,), {"group": 2**64}),
            ("size=18446.*: allowed", (data,), {"size": 2**64}),
            ("0 samples", (None,), {"samples": 0, "data": "x"}),
            ("samples=-1: allowed", (None,), {"samples": -1, "data": "x"}),
        ):
            with self.subTest(words=words), self.assertRaisesRegex(
                ValueError, words
            ):
                self.cache(*arguments, **options)

    def test_values_of_another_type(self):
        data = self.records()
        for words, arguments, options in (
            ("dataset='/d': has to be", ("/d",), {}),
            ("samples='9': has to be", (None,), {"samples": "9", "data": "x"}),
            ("data=5: has to be", (None,), {"samples": 9, "data": 5}),
            ("size=None: has to be", (data,), {"size": None}),
            ("size=1.5: has to be", (data,), {"size": 1.5}),
            ("keep='1': has to be", (data,), {"keep": "1"}),
            ("keep=None: has to be", (data,), {"keep": None}),
            ("name=5: has to be", (data,), {"name": 5}),
            ("group=1.5: has to be", (data,), {"group": 1.5}),
        ):
            with self.subTest(words=words), self.assertRaisesRegex(
                TypeError, words
            ):
                self.cache(*arguments, **options)

    def test_indices_and_samples_that_are_not_allowed(self):
        cache = self.cache()
        for use in (cache.get, lambda index: cache.put(index, b"")):
            for index in (-1, 10, 2**64):
                with self.assertRaisesRegex(IndexError, f"{index} of 10"):
                    use(index)
            with self.assertRaisesRegex(TypeError, "index='1': has to be"):
                use("1")
        self.assertNotIn(2**64, cache)
        with self.assertRaisesRegex(TypeError, "index='1': has to be"):
            "1" in cache
        with self.assertRaisesRegex(TypeError, "bytes, not str"):
            cache.put(1, "text")
        cache.put(numpy.int64(3), numpy.arange(3, dtype=numpy.uint8))
        self.assertEqual(cache.get(numpy.int32(3)), bytes([0, 1, 2]))

    def test_other_data_under_its_name_are_refused(self):
        cache = self.cache(name="mine")
        for options in ({"data": "others"}, {"samples": 11}):
            with self.assertRaisesRegex(ValueError, "holds other data"):
                self.cache(name="mine", **options)
        with self.assertRaisesRegex(ValueError, "holds other data"):
            self.cache(self.records(10), name="mine")
        self.assertNotEqual(self.cache(data=b"others").path, cache.path)

    def test_what_the_system_refuses(self):
        with mock.patch.dict(os.environ, PENSTOCK_CACHE_DIR="/proc"):
            with self.assertRaisesRegex(ValueError, "/proc: no tmpfs"):
                self.cache()
        taken = os.path.join(self.base, f"penstock-cache-{os.geteuid()}")
        os.mkdir(taken, 0o755)
        os.chmod(taken, 0o755)
        with self.assertRaisesRegex(PermissionError, "mode 0700"):
            self.cache()

    def test_a_groups_cache_is_of_its_folder(self):
        gid = os.getegid()
        paths = {
            self.cache(group=group).path
            for group in (gid, grp.getgrgid(gid).gr_name)
        }
        self.assertEqual(len(paths), 1)
        self.assertIn(f"penstock-cache-g{gid}/", paths.pop())

    def test_where_the_system_gives_no_memory_that_is_logged_once(self):
        cache = self.cache()
        with no_larger(cache.path), self.assertLogs("penstock.loader") as logs:
            for index in range(10):
                cache.put(index, bytes(5000))
                self.assertIsNone(cache.get(index))
        self.assertEqual(len(logs.output), 1)
        self.assertRegex(logs.output[0], "not filled .* File too large")

    def test_threads_may_share_it(self):
        cache = self.cache(samples=200)
        wrong = []

        def work():
            for index in range(200):
                found = cache.get(index)
                if found not in (None, b"%d" % index * 100):
                    wrong.append(index)
                cache.put(index, b"%d" % index * 100)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((wrong, len(cache)), ([], 200))


class LoaderCacheTest(CacheCase):
    def test_after_an_epoch_nothing_is_read(self):
        for data, stored_bytes in ((self.pictures(), 12 * (13 + 3 * 40 * 40)),
                                   (self.records(), 100 * 2)):
            options = {"crop": SIDE, "seed": 1, "threads": 1}
            plain = self.load(data, 4, **options)
            loader = self.load(data, 4, **options, cache=1 << 20)
            self.assertIs(loader.dataset, data)
            for _ in range(3):
                for mine, theirs in zip(loader, plain, strict=True):
                    self.assertTrue((mine.images == theirs.images).all())
                    self.assertTrue((mine.labels == theirs.labels).all())
            counters = loader.counters()
            self.assertGreaterEqual(counters["cached"], len(data))
            self.assertGreater(counters["cached_bytes"], 0)
            self.assertEqual(counters["bytes"], stored_bytes)
            self.assertEqual(plain.counters()["cached"], 0)

    def test_loaders_share_a_samplecache(self):
        data = self.pictures()
        cache = self.cache(data)
        list(self.load(data, 4, crop=SIDE, cache=cache, threads=1))
        misses = cache.counters()["misses"]
        self.assertEqual((misses, len(cache)), (12, 12))
        second = self.load(data, 4, crop=SIDE, cache=cache)
        list(second)
        self.assertEqual(second.counters()["bytes"], 0)
        self.assertEqual(cache.get(6)[:2], b"P6")

    def test_what_is_put_in_keeps_its_label(self):
        data = self.records()
        cache = self.cache(data)
        cache.put(6, bytes([6, 7]))
        loader = self.load(data, cache=cache, shuffle=False)
        batch = next(iter(loader))
        self.assertGreaterEqual(loader.counters()["cached"], 1)
        self.assertEqual(batch.labels[6], 106)

    def test_a_cache_that_cannot_be_had_is_logged(self):
        taken = os.path.join(self.base, f"penstock-cache-{os.geteuid()}")
        os.mkdir(taken)
        os.chmod(taken, 0o755)
        data = self.records()
        for size in ("auto", 1 << 20):
            with self.assertLogs("penstock.loader", "WARNING") as logs:
                loader = self.load(data, cache=size)
            self.assertRegex(logs.output[0], "without a cache: ")
            self.assertEqual(sum(len(y) for _, y in loader), 100)
            self.assertEqual(loader.counters()["cached"], 0)

    def test_without_a_limit_or_with_half_of_what_it_leaves(self):
        refused = OSError(5, "no memory cgroup limits this job")
        with mock.patch.object(
            penstock_loader._cache, "Cache", side_effect=refused
        ) as native, self.assertLogs("penstock.loader", "WARNING"):
            self.load(self.records(), cache="auto")
        self.assertEqual(native.call_args.kwargs["most_bytes"], 0)

    def test_wrong_data_and_values_are_errors(self):
        data = self.records()
        for cache in (self.cache(), self.cache(self.pictures()),
                      self.cache(self.records(99))):
            with self.assertRaisesRegex(ValueError, "holds other data"):
                self.load(data, cache=cache)
        for size in (0, -1, "most"):
            with self.assertRaisesRegex(ValueError, f"cache={size!r}"):
                self.load(data, cache=size)
        with self.assertRaisesRegex(TypeError, "cache=1.5: has to be"):
            self.load(data, cache=1.5)

    def test_without_memory_samples_are_read_as_ever(self):
        data = self.records()
        cache = self.cache(data)
        with no_larger(cache.path), self.assertLogs("penstock.loader") as logs:
            loader = self.load(data, cache=cache)
            for _ in range(3):
                self.assertEqual(sum(len(y) for _, y in loader), 100)
        self.assertEqual(len(logs.output), 1)
        self.assertRegex(logs.output[0], "not filled .* File too large")


class CachedDatasetTest(CacheCase):
    def setUp(self):
        super().setUp()
        self.counted = Counted(os.path.join(self.folder, "calls"))

    def cached(self, dataset=None, **options):
        return penstock_loader.CachedDataset(
            dataset or self.counted, self.cache(**options)
        )

    def test_items_are_read_once(self):
        dataset = self.cached()
        self.assertEqual(len(dataset), 10)
        for calls in (10, 0):
            for index in range(10):
                array, label = dataset[numpy.int64(index)]
                self.assertEqual(array.tolist(), [[index] * 50] * 4)
                self.assertEqual(label, f"label {index}")
                array += 1  # the caller's own
            self.assertEqual(self.counted.take_calls(), calls)
        self.assertEqual(dataset.cache.counters()["hits"], 10)

    def test_other_indices_are_the_datasets(self):
        dataset = self.cached()
        for index in (-1, 10):
            with self.assertRaises(IndexError):
                dataset[index]
        for _ in range(2):
            self.assertEqual(dataset["a"][1], "label a")
            self.assertEqual(dataset[True][1], "label True")
            self.assertEqual(dataset[numpy.array([3])][1], "label [3]")
        self.assertEqual(len(dataset.cache), 0)

    def test_caches_that_do_not_fit_are_refused(self):
        with self.assertRaisesRegex(ValueError, "group's cache.*code"):
            self.cached(group=os.getegid())
        with self.assertRaisesRegex(ValueError, "of 9 samples.* 10"):
            self.cached(samples=9)
        with self.assertRaisesRegex(ValueError, "as they are stored"):
            penstock_loader.CachedDataset(
                self.counted, self.cache(self.records(10))
            )

    def test_without_room_nothing_is_pickled_for_a_while(self):
        dataset = self.cached(size=1)
        pickled = mock.patch.object(
            _cached_dataset, "_pickled", wraps=_cached_dataset._pickled
        )
        with pickled as pickled:
            for _ in range(3):
                for index in range(10):
                    self.assertEqual(dataset[index][1], f"label {index}")
            self.assertEqual(pickled.call_count, 1)
            with mock.patch.object(time, "monotonic", lambda: 1e12):
                dataset[0]
            self.assertEqual(pickled.call_count, 2)
        self.assertEqual(dataset.cache.counters()["misses"], 31)

    def test_what_cannot_be_pickled_is_logged_once(self):
        dataset = self.cached([lambda: 7] * 10)
        with self.assertLogs("penstock.loader", "WARNING") as logs:
            for _ in range(2):
                self.assertEqual([dataset[i]() for i in range(10)], [7] * 10)
        self.assertEqual(len(logs.output), 1)
        self.assertIn("cannot be pickled", logs.output[0])
        self.assertEqual(dataset.cache.counters()["misses"], 20)

    def test_what_cannot_be_unpickled_is_read(self):
        dataset = self.cached()
        dataset.cache.put(1, b"no pickle")
        with self.assertLogs("penstock.loader", "WARNING") as logs:
            for _ in range(2):
                self.assertEqual(dataset[1][1], "label 1")
        self.assertEqual(len(logs.output), 1)
        self.assertEqual(self.counted.take_calls(), 2)

    def test_it_is_pickled_with_or_without_its_cache(self):
        dataset = self.cached()
        dataset[1]
        state = pickle.dumps(dataset)
        self.assertEqual(pickle.loads(state)[1][1], "label 1")
        self.assertEqual(self.counted.take_calls(), 1)
        del dataset
        taken = os.path.join(self.base, f"penstock-cache-{os.geteuid()}")
        os.mkdir(taken)
        os.chmod(taken, 0o755)
        with self.assertLogs("penstock.loader", "WARNING") as logs:
            without = pickle.loads(state)
        self.assertIn("without a cache", logs.output[0])
        for _ in range(2):
            self.assertEqual(without[1][1], "label 1")
        self.assertEqual(self.counted.take_calls(), 2)
        self.assertIsNone(pickle.loads(pickle.dumps(without)).cache)


if __name__ == "__main__":
    unittest.main()
