"""A private tmpfs folder for caches, and a dataset that counts its calls."""

import os
import tempfile
from unittest import mock

import numpy
from loader_case import LoaderCase, penstock_loader


class CacheCase(LoaderCase):
    def setUp(self):
        super().setUp()
        base = tempfile.TemporaryDirectory(
            prefix="penstock-test-", dir="/dev/shm"
        )
        self.addCleanup(base.cleanup)
        self.base = base.name
        patched = mock.patch.dict(os.environ, PENSTOCK_CACHE_DIR=self.base)
        patched.start()
        self.addCleanup(patched.stop)

    def cache(self, *data, **options):
        if not data:
            options = {"samples": 10, "data": "numbers"} | options
        return penstock_loader.SampleCache(
            *data, **({"size": 1 << 20} | options)
        )


class Counted:
    """A map-style dataset that records each call, in any process."""

    def __init__(self, path, count=10):
        self.path, self.count = path, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        with open(self.path, "ab") as calls:
            calls.write(b"x")
        if isinstance(index, int) and not 0 <= index < self.count:
            raise IndexError(index)
        return numpy.full((4, 50), index), f"label {index}"

    def take_calls(self):
        calls = os.path.getsize(self.path) if os.path.exists(self.path) else 0
        open(self.path, "wb").close()
        return calls
