"""tools/demo: a newcomer's first command, and its measurements.

docs/benchmarks.md describes the measurements; figures.py computes them.
"""
