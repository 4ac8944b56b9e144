"""python3 -m bench_memory.core: what one core computes, and the link that goes
with it; prints one line of JSON."""

import json
import statistics
import time

import torch

# A P100's, with PCI Express 3.0: the emulated link is in the same proportion
# to what computes.
GPU_FLOPS_PER_S = 9.3e12
GPU_LINK_BYTES_PER_S = 12e9

SIZE = 1024
TURNS = 31


def flops_per_s():
    """Of products of matrices, the middle one of many."""
    torch.set_num_threads(1)
    one, other = torch.randn(2, SIZE, SIZE)
    times = []
    for _ in range(TURNS):
        begin_s = time.perf_counter()
        torch.mm(one, other)
        times.append(time.perf_counter() - begin_s)
    return 2 * SIZE**3 / statistics.median(times)


def main():
    core = flops_per_s()
    print(json.dumps({
        "flops_per_s": core,
        "link_bytes_per_s": GPU_LINK_BYTES_PER_S * core / GPU_FLOPS_PER_S,
    }))


if __name__ == "__main__":
    main()
