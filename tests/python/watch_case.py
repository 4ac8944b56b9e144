"""A fake penstockd that is this process's own, for tests of measurements."""

import os
import unittest
from unittest import mock

import penstock
from fake_daemon import FakeDaemon, socket_folder

FRESH = {"current": None, "_has_failed": False, "_has_optimizer": False}


class DaemonTestCase(unittest.TestCase):
    def setUp(self):
        folder = socket_folder()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "penstockd.sock")
        for name, value in FRESH.items():
            self.patch("penstock._process." + name, value)

    def patch(self, name, value):
        patch = mock.patch(name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def connect(self):
        """Returns the daemon, and the client that this process uses."""
        daemon = FakeDaemon(self.path)
        self.addCleanup(daemon.close)
        return daemon, self.use_client(self.path)

    def use_client(self, path):
        client = penstock.Client(path)
        self.addCleanup(client.close)
        self.patch("penstock._client._default", client)
        self.patch("penstock._process.current", None)
        return client
