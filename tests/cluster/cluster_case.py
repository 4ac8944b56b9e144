"""A TestCase that has one embedded cluster for all of its tests."""

import json
import pathlib
import sys
import time
import unittest

import embedded

LONG_S = 120 * embedded.PATIENCE  # longer than any test's jobs run


class ClusterCase(unittest.TestCase):
    cluster_options = {}  # of EmbeddedCluster

    @classmethod
    def setUpClass(cls):
        cls.cluster = embedded.EmbeddedCluster(**cls.cluster_options)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def setUp(self):
        # Each test starts on an idle node.
        self.cluster.wait_empty()

    def run(self, result=None):
        """Runs a test. A failure quotes the daemons' logs, which vanish with
        the cluster."""
        wrong = len(result.failures) + len(result.errors) if result else 0
        begun = time.monotonic()
        done = super().run(result)
        print(f"{self.id()} took {time.monotonic() - begun:.1f} s", flush=True)
        if result and len(result.failures) + len(result.errors) > wrong:
            print(self.cluster.logs(), file=sys.stderr, flush=True)
        return done

    def check_time(self, measured, bound):
        """Fails if it took longer, unless the machine is emulated."""
        if embedded.PATIENCE == 1:
            self.assertLessEqual(measured, bound)

    def rate_in_log(self, name, seconds):
        """Samples/s over the next seconds, from the log NAME.log of a
        penstock-train in its user's home."""
        log = pathlib.Path(self.cluster.home(), f"{name}.log")

        def points():
            try:
                lines = log.read_text("utf-8").splitlines()
            except FileNotFoundError:
                return []
            return [json.loads(line) for line in lines if line.endswith("}")]

        start = end = None

        def is_long_enough():
            nonlocal start, end
            found = points()
            # An earlier job of that name may have left the file.
            if start not in found:
                start = found[-1] if found else None
                return False
            end = found[-1]
            return end["t_monotonic"] >= start["t_monotonic"] + seconds

        self.cluster._wait(f"{seconds} s of {name}'s log", is_long_enough,
                           seconds + 60)
        return ((end["samples"] - start["samples"])
                / (end["t_monotonic"] - start["t_monotonic"]))


def main():
    """unittest.main(), or the skip status of ctest if no test of the file
    ran."""
    reason = embedded.missing()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    result = unittest.main(module="__main__", verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    if result.skipped and result.testsRun <= len(result.skipped):
        sys.exit(77)
