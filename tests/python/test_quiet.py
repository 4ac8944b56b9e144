"""A test that needs a quiet machine counts only if the machine was quiet."""

import contextlib
import io
import pathlib
import sys
import time
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))

import quiet  # noqa: E402


def case(outcomes):
    """A test that passes or fails by the list of outcomes, one per run."""
    left = list(outcomes)

    class Case(quiet.Quiet, unittest.TestCase):
        cluster = types.SimpleNamespace(node="none")

        def test(self):
            self.assertTrue(left.pop(0))

    return Case("test"), left


class QuietTest(unittest.TestCase):
    def run_case(self, outcomes, others):
        """(result, unused outcomes). Others use these numbers of cores: one
        for each try, and for each check for quiet after a failed try."""
        uses = list(others)
        test, left = case(outcomes)
        result = unittest.TestResult()
        others_class = mock.Mock()
        others_class.return_value.cores = lambda: uses.pop(0)
        with (mock.patch.object(quiet, "Others", others_class),
              mock.patch.object(quiet.Quiet, "wait_left_s", 0.05),
              mock.patch.object(quiet, "LOOK_S", 0.02),
              contextlib.redirect_stderr(io.StringIO())):
            test.run(result)
        self.assertEqual(result.testsRun, 1)
        return result, left

    def test_a_pass_counts_whatever_others_do(self):
        result, _ = self.run_case([True], [2])
        self.assertTrue(result.wasSuccessful())
        self.assertEqual(result.skipped, [])

    def test_a_failure_on_a_quiet_machine_counts_at_once(self):
        result, left = self.run_case([False, True], [0])
        self.assertEqual(len(result.failures), 1)
        self.assertEqual(left, [True])

    def test_a_failure_beside_others_is_tried_again(self):
        result, left = self.run_case([False, True], [1, 1, 0, 0])
        self.assertTrue(result.wasSuccessful())
        self.assertEqual(result.skipped, [])
        self.assertEqual(left, [])

    def test_failures_beside_others_alone_are_no_measurement(self):
        result, left = self.run_case([False] * 4, [1, 0, 1, 0, 1, 0])
        self.assertEqual(result.failures, [])
        self.assertIn("NOT MEASURED", result.skipped[0][1])
        self.assertEqual(left, [False])

    def test_without_quiet_there_is_one_try(self):
        result, left = self.run_case([False, True], [1] * 10)
        self.assertEqual(result.failures, [])
        self.assertIn("NOT MEASURED", result.skipped[0][1])
        self.assertEqual(left, [True])

    def test_the_tests_own_time_is_not_others(self):
        def machine_s():
            return 5 + sum(quiet.os.times()[:4])

        with mock.patch.object(quiet, "machine_s", machine_s):
            others = quiet.Others("none")
            end = time.thread_time() + 0.3
            while time.thread_time() < end:
                pass
            self.assertLess(abs(others.cores()), 0.1)


if __name__ == "__main__":
    unittest.main()
