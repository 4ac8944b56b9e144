"""Ratios of alternating runs: their median and its interval. Pure."""

import math
import statistics


def interval(values, confidence=0.95):
    """Returns the two values that enclose the median of all, by the binomial
    distribution. It assumes nothing about the values' distribution."""
    ordered = sorted(values)
    count = len(ordered)
    cut = 0
    # Drops the `cut` outermost values on both sides while enough values remain.
    while cut + 1 <= (count - 1) // 2:
        outside = 2 * sum(math.comb(count, k) for k in range(cut + 2))
        if 1 - outside / 2 ** count < confidence:
            break
        cut += 1
    return ordered[cut], ordered[count - 1 - cut]


def median(values):
    return statistics.median(values)
