"""How a script ends that has things to remove."""

import ctypes
import json
import os
import signal
import sys


def by_exceptions():
    """Requests to end unwind the stack, so that what it holds is removed."""
    # Also where a shell has started us with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, frame: sys.exit(128 + got))


def signal_at_parents_end(number):
    """What this process is sent when its parent has ended in whatever way."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, number, 0, 0, 0)


def with_parent():
    """A parent that was killed with SIGKILL asks us to end, too."""
    parent = os.getppid()
    signal_at_parents_end(signal.SIGTERM)
    if os.getppid() != parent:  # it has ended meanwhile
        os.kill(os.getpid(), signal.SIGTERM)


def print_figures(name, failures, measure):
    """What a benchmark's script does: prints what measure() returns as JSON;
    returns the exit code."""
    by_exceptions()
    with_parent()
    try:
        figures = measure()
    except KeyboardInterrupt:
        return 130
    except failures as error:
        print(f"bench {name}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(figures), flush=True)
    return 0
