"""python3 -m bench.memory.core: measures one core's computing rate and derives
the link's rate; prints one line of JSON."""

import json
import statistics
import time

import torch

# Figures of a P100 with PCI Express 3.0. The emulated link has the same
# proportion to the computing rate.
GPU_FLOPS_PER_S = 9.3e12
GPU_LINK_BYTES_PER_S = 12e9

BATCH, CHANNELS, SIDE, KERNEL = 16, 256, 14, 3
FLOPS = 2 * BATCH * SIDE**2 * (CHANNELS * KERNEL)**2
TURNS = 31


@torch.no_grad()
def flops_per_s():
    """Returns the median rate of a convolution. (A matrix product would depend
    on the BLAS: Debian's takes thirty times as long.)"""
    torch.set_num_threads(1)
    inputs = torch.randn(BATCH, CHANNELS, SIDE, SIDE)
    layer = torch.nn.Conv2d(CHANNELS, CHANNELS, KERNEL, padding=KERNEL // 2)
    times = []
    for _ in range(TURNS):
        begin_s = time.perf_counter()
        layer(inputs)
        times.append(time.perf_counter() - begin_s)
    return FLOPS / statistics.median(times)


def main():
    core = flops_per_s()
    print(json.dumps({
        "flops_per_s": core,
        "link_bytes_per_s": GPU_LINK_BYTES_PER_S * core / GPU_FLOPS_PER_S,
    }))


if __name__ == "__main__":
    main()
