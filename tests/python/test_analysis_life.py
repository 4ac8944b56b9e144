"""Start and end of an analysis of penstock.watch()."""

import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

from analysis_case import COMMON, FILES, TORCH, FilesCase, needs_torch
from fake_analyze import SECRET


class LifeTest(FilesCase):
    LOOP = COMMON + """
import atexit
atexit.register(lambda: emit(saved=True))
for batch in penstock.watch([[1, 2]] * 10):
    time.sleep(0.001)
emit(saved=True)
"""

    def test_the_end_is_at_once(self):
        analyze = self.analyze(self.LOOP)
        analyze.ranks[0].run(1, "replay", 60, train=True)
        (output, errors), code = analyze.end()[0]
        self.assertEqual((output, errors, code), ("", "", 0))

    def test_a_lost_connection_ends_the_rank(self):
        for what in (None, b"", b"[1]\n", b"nonsense\n", b"x" * 70000,
                     b'{"cell": 1}\n', b'{"cell": 1, "data": "warm"}\n'):
            with self.subTest(what=what and what[:20]):
                analyze = self.analyze(self.LOOP)
                rank = analyze.ranks[0]
                if what is None:
                    rank.start(1, "memory", train=True)
                if what:
                    rank.socket.sendall(what)
                else:
                    rank.socket.close()  # b"": as after a wrong secret
                (output, errors), code = analyze.outcomes()[0]
                self.assertEqual((output, code), ("", 1))
                self.assertRegex(errors, "^penstock: the connection to penstock"
                                 " analyze is lost: .*\n$")

    def test_nothing_of_it_is_there_without_the_variable(self):
        script = COMMON + """
assert list(penstock.watch([1, 2])) == [1, 2]
emit(modules=[name for name in sys.modules if "_analysis" in name])
"""
        environment = dict(os.environ)
        environment.pop("PENSTOCK_ANALYZE", None)
        done = subprocess.run(
            [sys.executable, "-c", script, "x"], text=True, timeout=60,
            capture_output=True, env=environment)
        self.assertEqual((done.stdout, done.stderr), ('{"modules": []}\n', ""))

    def test_nobody_there(self):
        script = COMMON + "emit(batches=len(list(penstock.watch([1, 2]))))"
        for address in ("127.0.0.1:1:" + SECRET, "nonsense", "a:b:c",
                        "127.0.0.1:port:" + SECRET,
                        "127.0.0.1:99999:" + SECRET,
                        "127.0.0.1:1:" + "g" * 32):
            done = subprocess.run(
                [sys.executable, "-c", script, "x"], text=True, timeout=60,
                capture_output=True,
                env={**os.environ, "PENSTOCK_ANALYZE": address})
            self.assertEqual(done.stdout, '{"batches": 2}\n')
            self.assertRegex(done.stderr, "^penstock: penstock analyze cannot "
                             "be reached: .*; not analysed\n$")

    @needs_torch
    def test_workers_end_with_their_rank_and_hold_no_connection(self):
        script = TORCH + """
class Stuck(Files):
    def __getitem__(self, index):
        if index >= 16:
            time.sleep(100)
        return super().__getitem__(index)
for batch in penstock.watch(DataLoader(Stuck(), 4, num_workers=2)):
    pass
"""
        analyze = self.analyze(script)
        rank = analyze.ranks[0]
        rank.hold()  # its workers reach the call that blocks them
        pid = analyze.processes[0].pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        self.assertEqual(len(children), 2)
        own = rank.socket.getsockname()[1]
        for child in children:
            self.assertFalse(has_connection(child, own))
        self.assertTrue(has_connection(pid, own))
        analyze.end()
        for child in children:
            self.assertFalse(is_running(child))

    @needs_torch
    def test_the_hello_comes_with_the_connection(self):
        """However long the first batch takes: analyze disconnects silent
        ranks."""
        script = TORCH + """
class Slow(Files):
    def __getitem__(self, index):
        time.sleep(0.3)
        return super().__getitem__(index)
for batch in penstock.watch(DataLoader(Slow(), 4, num_workers=1)):
    pass
"""
        rank = self.analyze(script).ranks[0]
        self.assertLess(rank.silent_s, 0.5)

    @needs_torch
    def test_less_data_than_a_batch(self):
        """The hello lets analyze print the reason, if the rank waits for it."""
        script = TORCH + """
for batch in penstock.watch(DataLoader(Files(), 64, drop_last=True)):
    emit(batch=True)
emit(done=True)
"""
        for ends in (True, False):
            analyze = self.analyze(script)
            rank = analyze.ranks[0]
            self.assertEqual((rank.hello["batch_samples"],
                              rank.hello["dataset_samples"]), (64, FILES))
            rank.send(end=True) if ends else rank.start(1, "replay")
            (output, _), code = analyze.outcomes()[0]
            expected = "" if ends else '{"done": true}\n'
            self.assertEqual((output, code), (expected, 0))

    @needs_torch
    def test_what_the_dataset_raises_reaches_the_loop(self):
        script = TORCH + """
class Broken(Files):
    def __getitem__(self, index):
        if index == 20:
            raise ValueError("no such picture")
        return super().__getitem__(index)
for batch in penstock.watch(DataLoader(Broken(), 4, num_workers=1)):
    pass
"""
        analyze = self.analyze(script)
        analyze.ranks[0].start(1, "cold")
        (_, errors), code = analyze.outcomes()[0]
        self.assertEqual(code, 1)
        self.assertIn("ValueError: no such picture", errors)


def is_running(pid):
    """Waits briefly: a killed process needs a moment to end."""
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.02)
    return True


def has_connection(pid, port):
    """Whether a process has a TCP connection to a local port."""
    inodes = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[2].split(":")[1], 16) == port:
            inodes.add(f"socket:[{fields[9]}]")
    folder = f"/proc/{pid}/fd"
    return any(os.readlink(f"{folder}/{fd}") in inodes
               for fd in os.listdir(folder))


if __name__ == "__main__":
    unittest.main()
