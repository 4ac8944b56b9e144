"""Parts of a long benchmark: one that fails does not take the others along."""

import sys


class Parts:

    def __init__(self, failures):
        self._failures = failures  # exceptions that end a part, not all
        self.figures = []
        self.failed = []  # names

    def add(self, name, measure):
        """The figures that measure() returns. If it fails, says so."""
        try:
            self.figures += measure()
        except self._failures as error:
            print(f"bench lmdb: {name}: {error}", file=sys.stderr)
            self.failed.append(name)
