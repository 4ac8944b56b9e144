"""Slots of concurrent embedded clusters."""

import socket


class ClusterError(Exception):
    """The operation that failed, and the last lines of the cluster's logs."""


def take():
    """The first free slot, and the abstract socket that reserves it.

    Slots separate concurrent clusters. The next cluster in a killed cluster's
    slot finds its leftovers by name, cleans them up, and reuses the names."""
    for slot in range(100):
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            lock.bind(f"\0penstock-embedded-{slot}")
            return slot, lock
        except OSError:
            lock.close()
    raise ClusterError("100 embedded clusters run already")
