"""A TestCase that has one embedded cluster for all of its tests."""

import json
import pathlib
import sys
import unittest

import embedded


class ClusterCase(unittest.TestCase):
    cluster_options = {}  # of EmbeddedCluster

    @classmethod
    def setUpClass(cls):
        cls.cluster = embedded.EmbeddedCluster(**cls.cluster_options)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def setUp(self):
        # Each test finds an idle node.
        self.cluster.wait_empty()

    def check_time(self, measured, bound):
        """Fails where it took longer, unless the machine is an emulated one."""
        if embedded.PATIENCE == 1:
            self.assertLessEqual(measured, bound)

    def rate_in_log(self, name, seconds):
        """Samples/s of the next seconds, by the log NAME.log of a
        penstock-train in its user's home."""
        log = pathlib.Path(self.cluster.home(), f"{name}.log")

        def points():
            try:
                lines = log.read_text("utf-8").splitlines()
            except FileNotFoundError:
                return []
            return [json.loads(line) for line in lines if line.endswith("}")]

        self.cluster._wait(f"{name}'s log", points, 60)
        start = points()[-1]
        self.cluster._wait(f"{seconds} s of {name}'s log",
                           lambda: points()[-1]["t_monotonic"] >=
                           start["t_monotonic"] + seconds, seconds + 60)
        end = points()[-1]
        return ((end["samples"] - start["samples"])
                / (end["t_monotonic"] - start["t_monotonic"]))


def main():
    """unittest.main(), or a skip that ctest recognises."""
    reason = embedded.missing()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main(module="__main__", verbosity=2)
