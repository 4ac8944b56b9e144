"""penstock-slow-tier keeps its latency and its bandwidth."""

import os
import statistics
import threading
import time

import slow_case
from slow_case import opened, write_random

MEBIBYTE = 1 << 20


def pread_ms(fd, size, offset):
    start = time.monotonic()
    os.pread(fd, size, offset)
    return (time.monotonic() - start) * 1000


class Rates(slow_case.SlowCase):
    def test_the_latency_of_a_small_read(self):
        write_random(self.source / "data", MEBIBYTE)
        with self.tier(), opened(self.mountpoint / "data",
                                 os.O_RDONLY | os.O_DIRECT) as fd:
            times_ms = [pread_ms(fd, 4096, 4096 * i) for i in range(101)]
        self.assertGreaterEqual(min(times_ms), 2)
        self.assertLess(statistics.median(times_ms), 4)

    def test_latencies_overlap(self):
        write_random(self.source / "data", MEBIBYTE)
        with self.tier("--latency", "100ms"), opened(
                self.mountpoint / "data", os.O_RDONLY | os.O_DIRECT) as fd:
            threads = [threading.Thread(target=os.pread,
                                        args=(fd, 4096, 4096 * i))
                       for i in range(32)]
            start = time.monotonic()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            took_s = time.monotonic() - start
        self.assertGreaterEqual(took_s, 0.1)
        self.assertLess(took_s, 0.5)  # one after the other: 3.2 s

    def read_together(self, names):
        """Seconds."""
        threads = [threading.Thread(
            target=(self.mountpoint / name).read_bytes) for name in names]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.monotonic() - start

    def test_all_readers_share_the_bandwidth(self):
        names = [f"{i}" for i in range(10)]
        for name in names:
            write_random(self.source / name, 10 * MEBIBYTE)
        with self.tier("--bandwidth", "25MB/s"):
            took_s = self.read_together(names)
        self.assertAlmostEqual(took_s, 4, delta=0.2)

    def test_the_page_cache_is_used_until_it_is_dropped(self):
        write_random(self.source / "data", 4 * MEBIBYTE)
        with self.tier("--bandwidth", "10MB/s"):
            cold_s = self.read_together(["data"])
            warm_s = self.read_together(["data"])
            with opened(self.mountpoint / "data") as fd:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            dropped_s = self.read_together(["data"])
        self.assertGreater(cold_s, 0.4)
        self.assertLess(warm_s, 0.1)
        self.assertGreater(dropped_s, 0.4)


if __name__ == "__main__":
    slow_case.main()
