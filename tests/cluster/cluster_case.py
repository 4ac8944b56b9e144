"""A TestCase that has one embedded cluster for all of its tests."""

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


def main():
    """unittest.main(), or a skip that ctest recognises."""
    reason = embedded.missing()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main(module="__main__", verbosity=2)
