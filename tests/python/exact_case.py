"""Datasets and helpers of the tests of elastic workers. Start methods without
fork import this module in their processes."""

import gc
import os
import random
import re
import signal
import time
import warnings
from pathlib import Path

try:
    import torch.utils.data
    from torch.utils.data import DataLoader, Dataset
except ImportError:
    torch, DataLoader, Dataset = None, None, object
try:
    import numpy
except ImportError:
    numpy = None

from penstock._exact import exact_epoch


class Streams(Dataset):
    """Samples that tell everything that a worker's samples may depend on."""

    def __init__(self, size=240):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        worker = torch.utils.data.get_worker_info()
        return (
            index,
            torch.rand(()).item(),
            torch.randn(()).item(),
            random.random(),
            random.gauss(0, 1),  # keeps every second value for later
            numpy and numpy.random.rand(),
            numpy and numpy.random.randn(),
            torch.initial_seed(),
            worker.id,
            worker.num_workers,
            worker.seed,
            len(worker.dataset),
        )


class Processes(Streams):
    def __getitem__(self, index):
        return os.getpid()


class Slow(Streams):
    seconds = 0.005

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return super().__getitem__(index)


class Failing(Streams):
    """Its sample 150 fails in the given way."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def __getitem__(self, index):
        if index == 150:
            self.fail()
        return super().__getitem__(index)

    def fail(self):
        if self.error == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.error == "hang":
            time.sleep(60)
        raise self.error


class TwoParts(Exception):
    def __init__(self, first, second):
        super().__init__(first, second)


def seed_again(worker):
    random.seed(worker * 7)
    torch.rand(worker)


def fail_in_worker_1(worker):
    if worker == 1:
        raise LookupError("worker one")


def keep(samples):
    return list(samples)


def fail_to_collate(samples):
    if any(sample[0] == 150 for sample in samples):
        raise ArithmeticError("sample 150")
    return list(samples)


def loader(dataset=None, workers=4, **options):
    options = {"batch_size": 2, "collate_fn": keep} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # more workers than CPUs
        return DataLoader(
            Streams() if dataset is None else dataset,
            num_workers=workers,
            **options,
        )


def quietly(start, *arguments):
    gc.collect()  # torch's errors hold their iterator; no child may drop it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return start(*arguments)


def stock_batches(loader, seed=1):
    torch.manual_seed(seed)
    return list(quietly(iter, loader))


def start(loader, seed=1):
    torch.manual_seed(seed)
    return quietly(exact_epoch, loader)


def movable(epoch):
    """Yields the epoch's batches; returns once processes may vary."""
    epoch.crew.set_processes(1)
    while epoch.crew.processes() > 1:
        yield next(epoch.iterator)


def varied(epoch, seed, every=3):
    """Returns the batches, with a random number of processes after some."""
    rng, batches, changes = random.Random(seed), [], 0
    if epoch.crew is None:
        return list(epoch.iterator), 0
    for number, batch in enumerate(epoch.iterator):
        batches.append(batch)
        if number % every == 0:
            epoch.crew.set_processes(rng.randint(1, epoch.crew.workers))
            changes += 1
    return batches, changes


def outcome(iterator):
    """Returns the batches up to an error, the error, and how many more batches
    came after it (at most three errors)."""
    batches, errors, later = [], [], 0
    while len(errors) < 3:
        try:
            batch = next(iterator)
        except StopIteration:
            break
        except Exception as error:
            errors.append((type(error), without_pids(str(error))))
            continue
        later += bool(errors)
        batches.append(batch)
    return batches, errors, later


def without_pids(text):
    text = re.sub(r"\(pid(\(s\))? [\d, ]+\)", "(pid)", text)
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def eventually(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
