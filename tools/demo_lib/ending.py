"""How a script ends that has things to remove."""

import signal
import sys


def by_exceptions():
    """Requests to end unwind the stack, so that what it holds is removed."""
    # Also where a shell has started us with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, frame: sys.exit(128 + got))
