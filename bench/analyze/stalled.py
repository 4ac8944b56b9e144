#!/usr/bin/python3
"""A job with stalls set by its arguments.

Each step reads a block past the page cache, sleeps or computes in the dataset,
and sleeps in the training step. Prints the seconds that each really took."""

import argparse
import json
import mmap
import os
import time

import penstock
import torch

BLOCK_BYTES = 4096


class Steps(torch.utils.data.Dataset):
    def __init__(self, prep_s, busy_s, path):
        self._prep_s, self._busy_s = prep_s, busy_s
        self._block = mmap.mmap(-1, BLOCK_BYTES)
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECT) if path else -1
        self.fetch_s = self.prep_s = 0.0

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        begin_s = time.monotonic()
        if self._fd >= 0:
            blocks = os.fstat(self._fd).st_size // BLOCK_BYTES
            os.preadv(self._fd, [self._block], index % blocks * BLOCK_BYTES)
        fetched_s = time.monotonic()
        if self._prep_s > 0:
            time.sleep(self._prep_s)
        until_s = time.monotonic() + self._busy_s
        while time.monotonic() < until_s:
            pass
        self.fetch_s += fetched_s - begin_s
        self.prep_s += time.monotonic() - fetched_s
        return torch.zeros(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prep-ms", type=float, default=0)
    parser.add_argument("--busy-ms", type=float, default=0)
    parser.add_argument("--compute-ms", type=float, required=True)
    parser.add_argument("--file", help="read a block of it in each step")
    parser.add_argument("--seconds", type=float, required=True)
    arguments = parser.parse_args()
    steps = Steps(arguments.prep_ms / 1000, arguments.busy_ms / 1000,
                  arguments.file)
    loader = torch.utils.data.DataLoader(steps, batch_size=1)
    end_s = time.monotonic() + arguments.seconds
    compute_s = 0.0
    for _ in penstock.watch(loader):
        begin_s = time.monotonic()
        time.sleep(arguments.compute_ms / 1000)
        compute_s += time.monotonic() - begin_s
        if time.monotonic() >= end_s:
            break
    print(json.dumps({"compute": compute_s, "fetch_stall": steps.fetch_s,
                      "prep_stall": steps.prep_s}))


if __name__ == "__main__":
    main()
