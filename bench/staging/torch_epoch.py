"""python3 -m bench.staging.torch_epoch FOLDER: runs one epoch of PyTorch's
DataLoader with torchvision and one worker. Begins at a line on standard input;
prints seconds and samples as JSON."""

import json
import sys
import time

import torch

from bench.cache.torch_epochs import Pictures
from bench.loader import loops


def main():
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(
        Pictures(sys.argv[1]), loops.BATCH, shuffle=True, num_workers=1)
    print("ready", flush=True)
    sys.stdin.readline()
    begin_s = time.monotonic()
    samples = sum(len(batch) for batch in loader)
    print(json.dumps({"seconds": time.monotonic() - begin_s,
                      "samples": samples}), flush=True)


if __name__ == "__main__":
    main()
