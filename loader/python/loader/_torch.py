"""Adapts a Loader to torch.utils.data."""

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import IterableDataset, get_worker_info

from penstock.loader import Batch, Loader, State


class TorchDataset(IterableDataset):
    """Yields (images, labels) as tensors in the loader's memory.

    For DataLoader(dataset, batch_size=None, num_workers=0), or used alone.
    Takes the Loader's options, or a Loader."""

    reports_progress = True

    def __init__(self, loader: Any, *options: Any, **named_options: Any):
        super().__init__()
        if not isinstance(loader, Loader):
            loader = Loader(loader, *options, **named_options)
        elif options or named_options:
            raise TypeError("a Loader has its options already")
        self.loader: Loader = loader

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        if get_worker_info() is not None:
            raise RuntimeError(
                "penstock.loader has threads of its own, and none in a worker "
                "process: set num_workers=0"
            )
        return _until_copied(iter(self.loader))

    def state_dict(self) -> State:
        return self.loader.state_dict()

    def load_state_dict(self, state: State) -> None:
        self.loader.load_state_dict(state)


def _until_copied(
    batches: Iterator[Batch],
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yields the batches' tensors.

    A pinned batch is held until the GPU has finished the work queued on the
    current stream before the next batch. A copy with non_blocking=True may
    outlive the tensors."""
    is_copied_from = False
    held = done = None
    try:
        for batch in batches:
            is_copied_from = batch.is_pinned
            yield _tensors(batch)
            if done is not None:
                done.synchronize()
            held = done = None
            if is_copied_from and torch.cuda.is_initialized():
                held, done = batch, torch.cuda.Event(blocking=True)
                done.record()
            del batch
    finally:
        if is_copied_from and torch.cuda.is_initialized():
            torch.cuda.current_stream().synchronize()
        del held


def _tensors(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(batch.images), torch.from_numpy(batch.labels)
