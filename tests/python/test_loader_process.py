"""penstock.loader.Loader: signals, threads, forks, and penstockd."""

import copy
import gc
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import time
import unittest
import zlib
from pathlib import Path
from unittest import mock

import penstock
from fake_daemon import FakeDaemon, eventually, socket_folder
from loader_case import LoaderCase, penstock_loader, write_pictures

# A grant of one byte per second: the first batch never comes.
WAITING = """
import sys, threading, time
from penstock.loader import Loader, open_dataset
data = open_dataset(sys.argv[1], record_bytes=3, label_bytes=1)
ticks = []
def tick():
    while True:
        ticks.append(0)
        time.sleep(0.01)
threading.Thread(target=tick, daemon=True).start()
loader = Loader(data, 50)
print("waiting", flush=True)
try:
    next(iter(loader))
except KeyboardInterrupt:
    print("interrupted", len(ticks) > 20, flush=True)
"""

def write_slow_png(path, side=8000):
    """A PNG that takes hundreds of milliseconds to decode."""

    def chunk(name, data):
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(
            ">I", zlib.crc32(body)
        )

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes((1 + 3 * side) * side), 1)
    Path(path).write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
        + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


class ProcessTest(LoaderCase):
    def setUp(self):
        super().setUp()
        folder = socket_folder()
        self.addCleanup(folder.cleanup)
        self.socket = os.path.join(folder.name, "penstockd.sock")
        patched = mock.patch.dict(os.environ, PENSTOCK_SOCKET=self.socket)
        patched.start()
        self.addCleanup(patched.stop)

    def daemon(self, **hint):
        daemon = FakeDaemon(self.socket)
        daemon._make_pages()
        daemon.set_hint(**hint)
        self.addCleanup(daemon.close)
        return daemon

    def test_ctrl_c_ends_the_wait_and_other_threads_run(self):
        dataset = self.records()
        self.daemon(rate=1)
        script = [sys.executable, "-c", WAITING, dataset.path]
        with subprocess.Popen(
            script, stdout=subprocess.PIPE, text=True
        ) as waiting:
            self.assertEqual(waiting.stdout.readline(), "waiting\n")
            time.sleep(0.5)
            begin_s = time.monotonic()
            waiting.send_signal(signal.SIGINT)
            self.assertEqual(waiting.stdout.readline(), "interrupted True\n")
            self.assertEqual(waiting.wait(10), 0)
            self.assertLess(time.monotonic() - begin_s, 5)

    def test_a_forked_process_is_told(self):
        loader = self.load(self.records())
        batch = next(iter(loader))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                next(iter(loader))
            except RuntimeError as error:
                del loader, batch
                gc.collect()
                code = 0 if "num_workers=0" in str(error) else 2
            os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(len(batch.labels), 16)
        self.assertEqual(sum(1 for _ in loader), 7)

    def test_it_is_neither_copied_nor_pickled(self):
        loader = self.load(self.records())
        for send in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "num_workers=0"):
                send(loader)

    def test_after_close_nothing_comes(self):
        with penstock_loader.Loader(self.records()) as loader:
            epoch = iter(loader)
            next(epoch)
        with self.assertRaisesRegex(ValueError, "closed"):
            next(epoch)
        loader.close()

    def longest_standstill_s(self, action):
        """Duration of action, and the longest time for which another Python
        thread is blocked meanwhile."""
        ticks, has_ended = [time.monotonic()], threading.Event()

        def tick():
            while not has_ended.wait(0.005):
                ticks.append(time.monotonic())

        thread = threading.Thread(target=tick)
        thread.start()
        begin_s = time.monotonic()
        action()
        end_s = time.monotonic()
        has_ended.set()
        thread.join()
        ticks.append(time.monotonic())
        gaps = [after - before for before, after in zip(ticks, ticks[1:])]
        return end_s - begin_s, max(gaps)

    def test_other_threads_run_while_one_that_was_not_closed_ends(self):
        write_pictures(self.pictures_folder, 1)
        write_slow_png(os.path.join(self.pictures_folder, "b.png"))
        for last in ("loader", "view"):
            kept = [
                penstock_loader.Loader(
                    self.pictures_folder, 1, crop=8, shuffle=False, threads=1
                )
            ]
            if last == "view":
                kept = [next(iter(kept[0])).images[0, 0]]
                gc.collect()  # iterator and loader form a cycle
            time.sleep(0.02)
            with self.subTest(last=last):
                seconds, still_s = self.longest_standstill_s(kept.clear)
                self.assertGreater(seconds, 0.1)
                self.assertLess(still_s, seconds / 2)

    def test_a_program_ends_with_loaders_and_batches_open(self):
        program = (
            "import sys\nfrom penstock.loader import *\n"
            "a = Loader(open_dataset(sys.argv[1], record_bytes=3), 5)\n"
            "b = next(iter(a)); a.me = a\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, self.records().path],
            capture_output=True, text=True, timeout=30,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_another_thread_gives_a_batch_back(self):
        loader = self.load(self.records(), 10)
        epoch = iter(loader)
        held = [next(epoch) for _ in range(4)]
        threading.Timer(0.5, held.clear).start()
        self.assertEqual(len(next(epoch).labels), 10)

    def test_progress_goes_to_penstockd_and_threads_follow_the_hint(self):
        daemon = self.daemon(threads=1, rate=0)
        loader = self.load(self.records(), 10)
        for epoch in range(2):
            for _ in loader:
                pass
            page = daemon.progress()
            self.assertEqual(
                (page["samples"], page["steps"]),
                (100 * (epoch + 1), 10 * (epoch + 1)),
            )
        self.assertGreater(page["prepared"], 100)
        self.assertGreater(page["bytes"], 200)
        self.assertGreater(page["wait_ns"], 0)
        self.assertEqual(page["follows_hint"], 1)
        self.assertTrue(
            eventually(lambda: loader.counters()["threads"] == 1)
        )
        self.assertTrue(eventually(lambda: any(daemon.threads.values())))
        loader.close()
        self.assertTrue(eventually(lambda: not any(daemon.threads.values())))

    def test_a_fixed_number_of_threads_stays(self):
        daemon = self.daemon(threads=1, rate=0)
        loader = self.load(self.records(), threads=3)
        next(iter(loader))
        self.assertEqual(loader.counters()["threads"], 3)
        self.assertEqual(daemon.progress()["follows_hint"], 0)

    def test_watch_does_not_count_it_again(self):
        daemon = self.daemon(threads=1, rate=0)
        loader = self.load(self.records(), 10)
        with mock.patch.object(penstock._watched, "WatchedIterator") as watched:
            self.assertEqual(sum(1 for _ in penstock.watch(loader)), 10)
        watched.assert_not_called()
        self.assertEqual(daemon.progress()["samples"], 100)


if __name__ == "__main__":
    unittest.main()
