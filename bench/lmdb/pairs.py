"""Ratios of runs that alternate: their median, and where it lies. Pure."""

import math
import statistics


def interval(values, confidence=0.95):
    """Between which two of the values the median of all lies, by the binomial
    distribution: nothing is assumed of how they are spread."""
    ordered = sorted(values)
    count = len(ordered)
    cut = 0
    # Both sides lose the `cut` outermost values as long as that leaves enough.
    while cut + 1 <= (count - 1) // 2:
        outside = 2 * sum(math.comb(count, k) for k in range(cut + 2))
        if 1 - outside / 2 ** count < confidence:
            break
        cut += 1
    return ordered[cut], ordered[count - 1 - cut]


def median(values):
    return statistics.median(values)
