"""tools/demo: the newcomer's first command, and how it measures.

docs/benchmarks.md describes the measurements; figures.py computes them.
"""
