"""Jobs with each kind of loader that users write, and the CPU time that the
kernel counts for each of their threads.

A trainer computes for TRAIN_S per batch, a loader for PREPARE_S per sample,
both in CPU seconds. Every loader process and thread makes an empty file with
its pid or tid as name, which labels its threads for the observer."""

import pathlib
import re

BATCH = 8
WORKERS = 3
PREPARE_S = 0.004
TRAIN_S = 0.004

# Common beginning of all Python programs.
PRELUDE = """
import json, pathlib, sys, threading, time
sys.path.insert(0, {module!r})

def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def is_loader(*unused):
    pathlib.Path({labels!r}, str(threading.get_native_id())).touch()

def trained(count, done=[0, time.monotonic()]):
    done[0] += count
    print(json.dumps(dict(t_monotonic=time.monotonic(), samples=done[0])),
          file=LOG, flush=True)
"""

TORCH = PRELUDE + """
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
torch.set_num_threads(1)

class Samples(Dataset):
    def __len__(self):
        return {epoch}
    def __getitem__(self, index):
        compute({prepare})
        return torch.zeros(16)

class Stream(IterableDataset):
    def __iter__(self):
        for index in range({epoch}):
            compute({prepare})
            yield torch.zeros(16)

if __name__ == "__main__":
    LOG = open({log!r}, "w")
    loader = DataLoader({dataset}(), batch_size={batch}, num_workers={workers},
                        worker_init_fn=is_loader, {options})
    {before}
    while True:
        for batch in {iterated}:
            compute({train})
            trained(len(batch))
"""

# torch.multiprocessing.spawn: the first process waits for its trainers, which
# load with forked workers.
SPAWNED_TRAINERS = TORCH[:TORCH.index("if __name__")] + """
def main(rank):
    global LOG
    LOG = open({log!r} if rank == 0 else "/dev/null", "w")
    while True:
        loader = DataLoader({dataset}(), batch_size={batch},
                            num_workers={workers}, worker_init_fn=is_loader)
        for batch in loader:
            compute({train})
            trained(len(batch))
        compute(0.3)  # an evaluation, without workers

if __name__ == "__main__":
    torch.multiprocessing.spawn(main, nprocs=1)
"""

# hashlib lets other threads run while it computes.
POOL = PRELUDE + """
import concurrent.futures, hashlib
BLOCK = bytes(1 << 16)

def prepare(index):
    end = time.thread_time() + {prepare}
    while time.thread_time() < end:
        hashlib.sha256(BLOCK).digest()
    return index

LOG = open({log!r}, "w")
with concurrent.futures.ThreadPoolExecutor({workers}, initializer=is_loader) as pool:
    waiting = [pool.submit(prepare, i) for i in range(32)]
    while True:
        for _ in range({batch}):
            waiting.pop(0).result()
            waiting.append(pool.submit(prepare, 0))
        compute({train})
        trained({batch})
"""


WATCHED = {"before": "import penstock", "iterated": "penstock.watch(loader)"}


def torch(**values):
    """The program of a PyTorch job; values: those other than the default."""
    return TORCH, {"dataset": "Samples", "options": "", "before": "",
                   "iterated": "loader", "epoch": 1 << 20, **values}


def context(name):
    return f"multiprocessing_context={name!r}"


# Program (None: openmp_loader) and its values, by kind.
PROGRAMS = {
    "fork": torch(epoch=1600),
    "fork_persistent": torch(options="persistent_workers=True"),
    "spawn": torch(options=context("spawn")),
    "forkserver": torch(options=context("forkserver")),
    "iterable": torch(dataset="Stream"),
    "spawn_watch": torch(options=context("spawn"), **WATCHED),
    "fork_watch": torch(**WATCHED),
    # An epoch of twice a window, so that some windows see no worker end.
    "spawned_trainers": (SPAWNED_TRAINERS, torch(epoch=4800)[1]),
    # Trainers that use as much CPU as their loaders.
    "cpu_trainer": torch(train=BATCH * PREPARE_S),
    "cpu_trainer_watch": torch(train=BATCH * PREPARE_S, **WATCHED),
    "pool": (POOL, {}),
    "openmp": (None, {}),
}


class KernelCount:
    """CPU time of a job's loader threads and of its other threads, as the
    kernel counts it. The last CPU time of a thread, between the last reading
    and its end, is missing."""

    def __init__(self, labels):
        self._labels = pathlib.Path(labels)
        self._used_s = {}  # by tid
        self._loaders = set()

    def look(self, tids):
        labelled = {int(path.name) for path in self._labels.iterdir()}
        for tid in tids:
            try:
                text = pathlib.Path(f"/proc/{tid}/schedstat").read_text("ascii")
                if labelled & {tid, process_of(tid)}:
                    self._loaders.add(tid)
            except OSError:
                continue
            self._used_s[tid] = int(text.split()[0]) * 1e-9

    def loader_s(self):
        return sum(self._used_s[tid] for tid in self._loaders)

    def trainer_s(self):
        return sum(self._used_s.values()) - self.loader_s()


def process_of(tid):
    text = pathlib.Path(f"/proc/{tid}/status").read_text("utf-8", "replace")
    return int(re.search(r"^Tgid:\s+(\d+)", text, re.M).group(1))
