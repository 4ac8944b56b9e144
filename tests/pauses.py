"""Stops processes now and then, all at once, as a virtual machine stops whose
host is busy. Needs root and cgroup v1's freezer.

As a program, pauses the processes of the freezer's group GROUP until its
standard input ends: whoever started it may be killed while they are stopped."""

import os
import pathlib
import random
import select
import subprocess
import sys

FREEZER = pathlib.Path("/sys/fs/cgroup/freezer")
BETWEEN_S = 1.0  # on average
SHORTEST_S, LONGEST_S = 0.05, 0.3


class Pauses:
    """Of the processes of a command(), and of those that they start."""

    def __enter__(self):
        self._group = FREEZER / f"penstock-pauses.{os.getpid()}"
        try:
            self._group.mkdir()
        except OSError as error:
            sys.exit(f"--pauses: {error}; it needs root, and cgroup v1's "
                     f"freezer at {FREEZER}")
        # In a session of its own: Ctrl-C must not end it before it thaws.
        self._child = subprocess.Popen(
            [sys.executable, __file__, self._group], stdin=subprocess.PIPE,
            start_new_session=True)
        return self

    def __exit__(self, *error):
        self._child.stdin.close()
        self._child.wait()
        # Processes that a test left behind, and may start others, go to the
        # root.
        for _ in range(100):
            for pid in (self._group / "cgroup.procs").read_text().split():
                try:
                    (FREEZER / "cgroup.procs").write_text(pid)
                except ProcessLookupError:
                    pass
            try:
                self._group.rmdir()
                return
            except OSError:
                pass
        print(f"{self._group} has processes left", file=sys.stderr)

    def command(self, argv):
        """The command whose processes are stopped now and then."""
        return ["sh", "-c", f'echo $$ > {self._group}/cgroup.procs; exec "$@"',
                "sh", *argv]


def pause(group):
    """Until the end of standard input."""
    state = pathlib.Path(group, "freezer.state")

    def waits(seconds):
        return not select.select([sys.stdin], [], [], seconds)[0]

    while waits(random.expovariate(1 / BETWEEN_S)):
        state.write_text("FROZEN")
        waits(random.uniform(SHORTEST_S, LONGEST_S))
        state.write_text("THAWED")


if __name__ == "__main__":
    pause(sys.argv[1])
