"""Figures as `penstock bench` prints them."""

import statistics


def figure(name, values, unit="1", value=None):
    """value: where it is not the median; the spread is between quartiles."""
    low, high = min(values), max(values)
    if len(values) > 1:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"name": name, "unit": unit, "spread": high - low,
            "value": statistics.median(values) if value is None else value,
            "runs": len(values)}
