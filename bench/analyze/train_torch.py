#!/usr/bin/python3
"""A typical PyTorch training loop on a folder of JPEGs, with an emulated
accelerator (a timed wait) and a log in penstock-train's format."""

import argparse
import json
import os
import time

import numpy
import penstock
import torch
from PIL import Image


PASSES = 50  # passes over the folder per epoch; few files would end too early


class Pictures(torch.utils.data.Dataset):
    """cold: drop every file from the page cache before reading it. This
    emulates a data set much larger than memory. Files on tmpfs stay."""

    def __init__(self, folder, cold):
        self.paths = sorted(entry.path for entry in os.scandir(folder)
                            if entry.name.endswith(".jpg"))
        self.cold = cold

    def __len__(self):
        return PASSES * len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index % len(self.paths)], "rb") as file:
            if self.cold:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            with Image.open(file) as picture:
                pixels = numpy.asarray(
                    picture.convert("RGB").resize((224, 224)))
        return torch.from_numpy(pixels.transpose(2, 0, 1).copy()).float() / 255


class Log:
    """Writes a line at the end of a step, at most every 0.1 s."""

    def __init__(self, path):
        self._file = open(path, "w", encoding="utf-8", buffering=1)
        self._samples, self._last_s = 0, 0.0

    def step(self, samples):
        self._samples += samples
        now_s = time.monotonic()
        if now_s - self._last_s >= 0.1:
            self._last_s = now_s
            print(json.dumps({"t_monotonic": now_s, "samples": self._samples,
                              "wait_s": 0}), file=self._file)


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--accelerator-s-per-sample", type=float, default=0)
    parser.add_argument("--duration", type=float, default=10)
    parser.add_argument("--log", default="/dev/null")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--replay", action="store_true")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(
        Pictures(arguments.data, arguments.cold), shuffle=True, drop_last=True,
        batch_size=arguments.batch, num_workers=arguments.workers,
        persistent_workers=arguments.workers > 0)
    if arguments.replay:
        loader = [next(iter(loader))] * 1000
    log = Log(arguments.log)
    end_s = time.monotonic() + arguments.duration
    while time.monotonic() < end_s:
        for batch in penstock.watch(loader):
            time.sleep(arguments.accelerator_s_per_sample * len(batch))
            log.step(len(batch))
            if time.monotonic() >= end_s:
                break


if __name__ == "__main__":
    main()
