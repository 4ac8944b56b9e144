"""python3 -m bench.loader.loop NAME DATA THREADS WARM_S MEASURED_S: draws a
peer's batches, and prints the begin and the end of the measured part."""

import sys
import time

from bench.loader import loops, loops_pypi

LOOPS = {**loops.LOOPS, **loops_pypi.LOOPS}


def run_for(batches, seconds):
    """Returns the number of images."""
    end_s = time.monotonic() + seconds
    images = 0
    while time.monotonic() < end_s:
        images += next(batches)
    return images


def main():
    name, data, threads, warm_s, measured_s = sys.argv[1:]
    batches = LOOPS[name](data, int(threads))
    next(batches)  # compiles, and starts workers
    run_for(batches, float(warm_s))
    print("begin", flush=True)
    print("end", run_for(batches, float(measured_s)), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
