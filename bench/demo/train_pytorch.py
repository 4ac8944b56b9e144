#!/usr/bin/python3
"""A typical PyTorch training script, which knows nothing of Penstock: pictures of
a folder, a DataLoader with a fixed number of workers.

The accelerator is emulated by a timed wait. The log is as penstock-train's."""

import argparse
import json
import math
import os
import sys
import time

import numpy
import torch
from PIL import Image


PASSES = 50  # passes over the folder per epoch; few files would end too early
LOG_PERIOD_S = 0.1


class Pictures(torch.utils.data.Dataset):
    """cold: drop every file from the page cache before reading it. This
    emulates a data set much larger than memory. Files on tmpfs stay. replay:
    each worker prepares one picture only, so that data is never late. store_s:
    time until a remote store answers."""

    def __init__(self, folder, cold, replay, store_s):
        self.paths = sorted(entry.path for entry in os.scandir(folder)
                            if entry.name.endswith((".jpg", ".ppm")))
        self.cold, self.replay, self.store_s = cold, replay, store_s
        self.prepared = None

    def __len__(self):
        return PASSES * len(self.paths)

    def __getitem__(self, index):
        if not self.replay:
            return self.prepare(index)
        if self.prepared is None:
            self.prepared = self.prepare(index)
        return self.prepared

    def prepare(self, index):
        if self.store_s:
            time.sleep(self.store_s)
        with open(self.paths[index % len(self.paths)], "rb") as file:
            if self.cold:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            with Image.open(file) as picture:
                pixels = numpy.asarray(
                    picture.convert("RGB").resize((224, 224)))
        return torch.from_numpy(pixels.transpose(2, 0, 1).copy()).float() / 255


class Trainer:
    """Trains until the end's time, or until it has this number of samples."""

    def __init__(self, arguments):
        self._arguments = arguments
        self._model = torch.nn.Linear(3, 1)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=1e-3)
        self._log = open(arguments.log, "w", encoding="utf-8", buffering=1)
        self._end_s = time.monotonic() + arguments.duration
        self._samples, self._logged_s = 0, 0.0

    def is_done(self):
        return self._samples >= self._arguments.samples or \
            time.monotonic() >= self._end_s

    def step(self, batch):
        self._optimizer.zero_grad()
        self._model(batch[:, :, 0, 0]).sum().backward()
        time.sleep(self._arguments.accelerator_s_per_sample * len(batch))
        self._optimizer.step()
        self._samples += len(batch)
        now_s = time.monotonic()
        if now_s - self._logged_s >= LOG_PERIOD_S or self.is_done():
            self._logged_s = now_s
            print(json.dumps({"t_monotonic": now_s, "samples": self._samples}),
                  file=self._log)


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--accelerator-s-per-sample", type=float, default=0)
    parser.add_argument("--duration", type=float, default=math.inf)
    parser.add_argument("--samples", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", default="/dev/null")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--store-s", type=float, default=0)
    parser.add_argument("--replay", action="store_true")
    return parser.parse_args()


def make_loader(arguments):
    return torch.utils.data.DataLoader(
        Pictures(arguments.data, arguments.cold, arguments.replay,
                 arguments.store_s),
        shuffle=True, drop_last=True, batch_size=arguments.batch,
        num_workers=arguments.workers)


def main():
    arguments = parse_arguments()
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    loader = make_loader(arguments)
    trainer = Trainer(arguments)
    while not trainer.is_done():
        for batch in loader:
            trainer.step(batch)
            if trainer.is_done():
                break


if __name__ == "__main__":
    main()
