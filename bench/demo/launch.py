"""Measures the plugin's cost at a task's launch: `srun true` with and without
it, in alternating pairs. penstockd measures the time inside its callbacks
(Session.statuses)."""

import time

from bench.demo.session import MANAGED
from bench.program import BenchError


def measure(session, pairs):
    """Returns [(ms without, ms with)], under Penstock."""
    session.progress.phase(f"launching: {pairs} pairs of `srun true` without "
                           "and with the plugin")
    session.enter("penstock")
    times = []
    try:
        for index in range(pairs):
            session.progress.live(f"pair {index + 1} of {pairs}")
            order = (False, True) if index % 2 == 0 else (True, False)
            found = {there: launch_ms(session, there) for there in order}
            times.append((found[False], found[True]))
    finally:
        session.set_plugin(True)
    return times


def launch_ms(session, with_plugin):
    session.set_plugin(with_plugin)
    flags = [MANAGED] * with_plugin
    begin_s = time.monotonic()
    done = session.cluster.srun("true", flags=flags)
    elapsed_ms = (time.monotonic() - begin_s) * 1000
    if done.returncode != 0:
        raise BenchError(f"srun true: {done.stderr.strip()}")
    return elapsed_ms
