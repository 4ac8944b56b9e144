"""Errors of elastic workers are those of torch's own: type, text with the
worker's number and traceback, and what the iterator does afterwards. Nothing
hangs, and no process stays behind."""

import gc
import os
import random
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import exact_case as case
from exact_case import torch

SEED = random.randrange(10**6)
LIMIT_S = 60


def too_long(*_):
    os._exit(f"an iterator hangs (more than {LIMIT_S} s)" and 99)


@unittest.skipUnless(torch, "python3-torch is not installed")
class ErrorCase(unittest.TestCase):
    def setUp(self):
        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(LIMIT_S)
        self.addCleanup(signal.alarm, 0)

    def pids(self, iterator):
        return [worker.pid for worker in iterator._workers]

    def check_ends(self, pids):
        gc.collect()  # torch's errors hold their iterator in a cycle
        self.assertTrue(
            case.eventually(lambda: not any(map(case.is_alive, pids))), pids
        )


class SameErrorTest(ErrorCase):
    def check(self, loader, processes=1):
        """Compares with torch's own, while one process does all workers'
        tasks."""
        torch.manual_seed(1)
        own = case.quietly(iter, loader)
        expected = case.outcome(own)
        own._shutdown_workers()  # takes 5 s per process if it is garbage
        epoch = case.start(loader)
        first = list(case.movable(epoch)) if processes else []
        pids = self.pids(epoch.iterator)
        batches, errors, later = case.outcome(epoch.iterator)
        self.assertEqual(expected, (first + batches, errors, later))
        self.assertTrue(errors)
        del epoch
        self.check_ends(pids)
        return errors

    def test_a_sample_that_fails(self):
        for error in (
            KeyError("sample"),
            ValueError("sample"),
            case.TwoParts(1, 2),
        ):
            with self.subTest(type(error)):
                _, text = self.check(case.loader(case.Failing(error)))[0]
                self.assertIn("in DataLoader worker process 3.", text)

    def test_collate_fn_that_fails(self):
        loader = case.loader(collate_fn=case.fail_to_collate)
        _, text = self.check(loader)[0]
        self.assertIn("Caught ArithmeticError in DataLoader worker", text)

    def test_worker_init_fn_that_fails(self):
        loader = case.loader(worker_init_fn=case.fail_in_worker_1)
        _, text = self.check(loader, processes=None)[0]
        self.assertIn("Caught LookupError in DataLoader worker process 1", text)

    def test_a_sample_that_takes_longer_than_the_timeout(self):
        loader = case.loader(case.Failing("hang"), timeout=2)
        epoch = case.start(loader)
        list(case.movable(epoch))
        with self.assertRaisesRegex(
            RuntimeError, "^DataLoader timed out after 2 seconds$"
        ):
            list(epoch.iterator)
        pids = self.pids(epoch.iterator)
        del epoch
        self.check_ends(pids)



class DeathTest(ErrorCase):
    def first_error(self, iterator):
        try:
            for _ in iterator:
                pass
        except RuntimeError as error:
            cause = error.__cause__ or error
            return case.without_pids(str(error)), case.without_pids(str(cause))
        self.fail("no error")

    def test_a_process_that_dies_is_told_as_by_torch(self):
        for error in ("kill", SystemExit(3)):
            with self.subTest(error):
                loader = case.loader(case.Failing(error))
                own = case.quietly(iter, loader)
                expected = self.first_error(own)
                own._shutdown_workers()
                epoch = case.start(loader)
                list(case.movable(epoch))
                told = self.first_error(epoch.iterator)
                self.assertIn(told, (expected, expected[1:] * 2))
                # What an iterator does then must end.
                case.outcome(epoch.iterator)
                pids = self.pids(epoch.iterator)
                del epoch
                self.check_ends(pids)

    def test_a_kill_at_any_moment_is_an_error_within_seconds(self):
        print(f"seed {SEED}")
        rng = random.Random(SEED)
        loader = case.loader(case.Slow(10_000))
        for _ in range(8):
            epoch = case.start(loader)
            pids = self.pids(epoch.iterator)
            after = rng.randrange(40)
            with self.assertRaises(RuntimeError):
                for number, _ in enumerate(epoch.iterator):
                    epoch.crew.set_processes(rng.randint(1, 4))
                    if number == after:
                        os.kill(rng.choice(pids), signal.SIGKILL)
            del epoch
            self.check_ends(pids)
            signal.alarm(LIMIT_S)

    def test_processes_end_though_a_killed_one_has_the_lock(self):
        epoch = case.start(case.loader())
        list(case.movable(epoch))
        pids = self.pids(epoch.iterator)
        epoch.crew.memory._lock.acquire()  # and never released
        del epoch
        self.check_ends(pids)

    def test_an_unfinished_epoch_ends_its_processes(self):
        for count in (1, 4):
            epoch = case.start(case.loader())
            list(case.movable(epoch))
            epoch.crew.set_processes(count)
            pids = self.pids(epoch.iterator)
            del epoch
            self.check_ends(pids)

    def test_a_finished_epoch_ends_its_processes_and_files(self):
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            epoch = case.start(case.loader())
            case.varied(epoch, 1)
            self.assertFalse(
                any(map(case.is_alive, self.pids(epoch.iterator)))
            )
            del epoch
        self.assertLess(len(os.listdir("/proc/self/fd")), before + 6)


TRAINER = """
import exact_case as case, os, sys
epoch = case.start(case.loader(case.Slow(100_000)))
list(case.movable(epoch))
print(*[worker.pid for worker in epoch.iterator._workers], flush=True)
for batch in epoch.iterator:
    pass
"""


class TrainerTest(ErrorCase):
    def trainer(self):
        path = [str(Path(__file__).parent), *sys.path]
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", TRAINER],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        pids = list(map(int, process.stdout.readline().split()))
        self.assertEqual(len(pids), 4)
        return process, pids

    def test_a_killed_trainer_takes_its_processes_along(self):
        process, pids = self.trainer()
        process.kill()
        process.communicate()
        self.check_ends(pids)

    def test_ctrl_c_ends_trainer_and_processes(self):
        process, pids = self.trainer()
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate()
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertTrue(errors.rstrip().endswith("KeyboardInterrupt"), errors)
        self.assertEqual(errors.count("Traceback"), 1, errors)
        self.check_ends(pids)


if __name__ == "__main__":
    unittest.main()
