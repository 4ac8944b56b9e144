"""Measures images per CPU second of one program with its children, between its
output lines "begin" and "end N"."""

import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

from bench.program import BenchError

LIMIT_S = 180  # of a run; FFCV compiles for half a minute
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True)
class Measured:
    images: int
    cpu_s: float
    wall_s: float

    @property
    def per_cpu_s(self):
        return self.images / self.cpu_s

    @property
    def per_s(self):
        return self.images / self.wall_s


def parse_stat(text):
    """Returns (parent, CPU seconds) of a /proc/PID/stat. Parses the text after
    the name, which may contain any character."""
    fields = text.rpartition(")")[2].split()
    return int(fields[1]), (int(fields[11]) + int(fields[12])) * TICK_S


def tree_cpu_s(root):
    """Returns the CPU seconds of a process and its live descendants."""
    parents, seconds = {}, {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text("utf-8", errors="replace")
        except OSError:  # it has ended
            continue
        number = int(path.parent.name)
        parents[number], seconds[number] = parse_stat(text)

    def is_below(number):
        while number not in (0, root):
            number = parents.get(number, 0)
        return number == root

    return sum(seconds[number] for number in seconds if is_below(number))


def read_looks(process):
    """Returns the tree's CPU time and the clock's at each of both lines, and
    N."""
    looks = []
    for line in process.stdout:
        words = line.split()
        if words[:1] in (["begin"], ["end"]):
            looks.append((tree_cpu_s(process.pid), time.monotonic()))
        if words[:1] == ["end"]:
            return looks, int(words[1])
    raise BenchError("ended early")


def measure(command, environment):
    with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(
            [str(word) for word in command], text=True, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            start_new_session=True) as process:
        # Kills a hanging program, which ends its output.
        watch = threading.Timer(LIMIT_S, end, [process])
        watch.start()
        try:
            looks, images = read_looks(process)
        except BenchError:
            errors.seek(0)
            lines = errors.read().strip().splitlines()
            raise BenchError(
                lines[-1] if lines else
                f"ended without a result, or took over {LIMIT_S} s") from None
        finally:
            watch.cancel()
            end(process)
    (cpu_0, wall_0), (cpu_1, wall_1) = looks
    if images == 0 or cpu_1 == cpu_0:
        raise BenchError("prepared nothing while it was measured")
    return Measured(images, cpu_1 - cpu_0, wall_1 - wall_0)


def end(process):
    """Kills the process and its workers, which are in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
