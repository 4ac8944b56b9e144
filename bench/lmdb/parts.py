"""Parts of a long benchmark; a failed part does not end the others."""

import sys


class Parts:

    def __init__(self, failures):
        self._failures = failures  # exceptions that end only a part
        self.figures = []
        self.failed = []  # names

    def add(self, name, measure):
        """Adds the figures from measure(). Reports a failure."""
        try:
            self.figures += measure()
        except self._failures as error:
            print(f"bench lmdb: {name}: {error}", file=sys.stderr)
            self.failed.append(name)
