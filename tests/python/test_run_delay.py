#!/usr/bin/python3
"""The run delay of a thread, as penstock.watch reports it."""

import copy
import os
import pathlib
import pickle
import sys
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "libpenstock" / "python"), str(HERE)]

from penstock._run_delay import (  # noqa: E402
    RunDelay, begin_wait, end_wait, take_delay_ns)


def compute(seconds):
    """Computes for that CPU time of the thread; returns the wall time."""
    begin = time.monotonic()
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return time.monotonic() - begin


class RunDelayTest(unittest.TestCase):
    def setUp(self):
        affinity = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, affinity)
        os.sched_setaffinity(0, {min(affinity)})

    def test_a_lap_is_what_the_thread_waited_for_its_cpu(self):
        rival = os.fork()
        if rival == 0:
            while True:
                pass
        try:
            delay = RunDelay()
            self.assertEqual(delay.lap_ns(), 0)  # the first
            wall_s = compute(0.3)
            lap_s = delay.lap_ns() * 1e-9
        finally:
            os.kill(rival, 9)
            os.waitpid(rival, 0)
        # The kernel counts a wait when it ends. A stop of the machine is none.
        self.assertLess(lap_s, wall_s - 0.25)
        self.assertGreater(lap_s, 0.1)

    def test_sleep_is_no_delay(self):
        delay = RunDelay()
        delay.lap_ns()
        begin = time.monotonic()
        time.sleep(0.2)
        self.assertLess(delay.lap_ns() * 1e-9, time.monotonic() - begin - 0.1)

    def test_another_thread_or_process_starts_anew(self):
        delay = RunDelay()
        delay.lap_ns()
        laps = []
        thread = threading.Thread(target=lambda: laps.append(delay.lap_ns()))
        thread.start()
        thread.join()
        self.assertEqual(laps, [0])
        child = os.fork()
        if child == 0:
            os._exit(int(delay.lap_ns() != 0))
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        for other in (copy.copy(delay), pickle.loads(pickle.dumps(delay))):
            self.assertEqual(other.lap_ns(), 0)

    def has_delay(self):
        """Whether the thread's run delay is visible next to a rival thread."""
        rival = os.fork()
        if rival == 0:
            while True:
                pass
        try:
            begin_wait()
            end_wait()
            take_delay_ns()
            compute(0.1)
            begin_wait()
            end_wait()
            return take_delay_ns() > 0
        finally:
            os.kill(rival, 9)
            os.waitpid(rival, 0)

    def test_an_end_without_a_begin_changes_nothing(self):
        end_wait()
        self.assertTrue(self.has_delay())

    def test_a_child_that_was_forked_in_a_wait_does_not_wait(self):
        begin_wait()
        child = os.fork()
        if child == 0:
            os._exit(int(not self.has_delay()))
        end_wait()
        self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
