"""What penstock-train writes while it runs (--log): parsing and rates. Pure
but for read()."""

import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Line:
    """Counters since the job's start; t_s is CLOCK_MONOTONIC."""
    t_s: float
    samples: float
    wait_s: float


def parse(text):
    """The log's whole lines; a last line still being written is ignored."""
    lines = []
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            entry = json.loads(line)
            lines.append(Line(float(entry["t_monotonic"]),
                              float(entry["samples"]),
                              float(entry["wait_s"])))
    return lines


def read(path):
    """As parse(); no file yet is an empty log."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read())
    except FileNotFoundError:
        return []


def rate(lines, begin_s, end_s):
    """Samples/s between two times: the slope of a least-squares line.

    A counter moves by whole steps, so the difference of its ends would be off
    by up to a step at each. None with fewer than 5 lines in the interval."""
    inside = [line for line in lines if begin_s <= line.t_s <= end_s]
    if len(inside) < 5:
        return None
    mean_t = sum(line.t_s for line in inside) / len(inside)
    mean_n = sum(line.samples for line in inside) / len(inside)
    spread = sum((line.t_s - mean_t) ** 2 for line in inside)
    return sum((line.t_s - mean_t) * (line.samples - mean_n)
               for line in inside) / spread


def rate_after_start(lines):
    """As rate(), from a second after the job's first step on."""
    begin_s = next(line.t_s for line in lines if line.samples > 0) + 1
    return rate(lines, begin_s, lines[-1].t_s)
