"""Parses penstock-train's progress log (--log), and computes rates. Pure,
except read()."""

import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Line:
    """Counters since the job's start; t_s is CLOCK_MONOTONIC."""
    t_s: float
    samples: float


def parse(text):
    """Returns the log's whole lines; ignores an incomplete last line."""
    lines = []
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            entry = json.loads(line)
            lines.append(Line(float(entry["t_monotonic"]),
                              float(entry["samples"])))
    return lines


def read(path):
    """Parses a file; a missing file is an empty log."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read())
    except FileNotFoundError:
        return []


def rate(lines, begin_s, end_s):
    """Returns samples/s between two times: the slope of a least-squares line.

    A counter moves by whole steps. So the difference of its ends would be off
    by up to a step at each end. Returns None with fewer than 5 lines in the
    interval."""
    inside = [line for line in lines if begin_s <= line.t_s <= end_s]
    if len(inside) < 5:
        return None
    mean_t = sum(line.t_s for line in inside) / len(inside)
    mean_n = sum(line.samples for line in inside) / len(inside)
    spread = sum((line.t_s - mean_t) ** 2 for line in inside)
    return sum((line.t_s - mean_t) * (line.samples - mean_n)
               for line in inside) / spread


def rate_after_start(lines):
    """Returns the rate() from one second after the job's first step."""
    begin_s = next(line.t_s for line in lines if line.samples > 0) + 1
    return rate(lines, begin_s, lines[-1].t_s)
