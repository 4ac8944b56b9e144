"""python3 -m bench.cache.torch_epochs FOLDER WORKERS EPOCHS STAT: PyTorch's
DataLoader with torchvision. Prints a line of JSON per epoch. STAT: the device's
statistics, a block device's file below /sys."""

import json
import pathlib
import sys
import time

import torch

from bench.loader import loops

SECTOR_BYTES = 512


class Pictures(loops.FolderSamples):
    def __len__(self):
        return len(self._files)


def read_bytes(stat):
    return int(pathlib.Path(stat).read_text("ascii").split()[2]) * SECTOR_BYTES


def main():
    folder, workers, epochs, stat = sys.argv[1:]
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(
        Pictures(folder), loops.BATCH, shuffle=True, num_workers=int(workers),
        persistent_workers=True)
    for _ in range(int(epochs)):
        before, begin_s = read_bytes(stat), time.monotonic()
        samples = sum(len(batch) for batch in loader)
        print(json.dumps({"seconds": time.monotonic() - begin_s,
                          "read_bytes": read_bytes(stat) - before,
                          "samples": samples}), flush=True)


if __name__ == "__main__":
    main()
