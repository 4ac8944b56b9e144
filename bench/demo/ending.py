"""Cleanup at the end of scripts."""

import ctypes
import json
import os
import signal
import sys


def by_exceptions():
    """Turns termination signals into exceptions, so that the stack unwinds and
    its resources are removed."""
    # Also if a shell has started this process with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, frame: sys.exit(128 + got))


def signal_at_parents_end(number):
    """Sets the signal that this process gets when its parent ends in any
    way."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, number, 0, 0, 0)


def with_parent():
    """Terminates this process if its parent ends, even by SIGKILL."""
    parent = os.getppid()
    signal_at_parents_end(signal.SIGTERM)
    if os.getppid() != parent:  # the parent has ended in the meantime
        os.kill(os.getpid(), signal.SIGTERM)


def print_figures(name, failures, measure):
    """Runs a benchmark's script: prints the result of measure() as JSON;
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
