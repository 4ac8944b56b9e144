"""Measures torch's DataLoaders by patches in torch itself.

Loaders and their iterators stay torch's own objects, so that frameworks do with
them what they do without Penstock. Never imports torch.
"""

import sys
from typing import Any

from penstock._clone import is_data_loader
from penstock._mark import mark_of
from penstock._patch_loader import (
    adopt_iterators,
    is_patched,
    patch_iterator,
    patch_loader,
)
from penstock._patch_optimizer import patch_optimizer
from penstock._process import guarded, process

_DATALOADER = "torch.utils.data.dataloader"


def _patch_dataloader(module: Any) -> None:
    patch_iterator(module._BaseDataLoaderIter)
    patch_loader(module.DataLoader)


def _patch_stateful(module: Any) -> None:
    """Its iterator calls torch's __next__, its __iter__ not torch's."""
    patch_loader(module.StatefulDataLoader)


def _patch_optimizer(module: Any) -> None:
    patch_optimizer(module.Optimizer)


# By module; hook/sitecustomize.py waits for these.
PATCHES = {
    _DATALOADER: _patch_dataloader,
    "torch.optim.optimizer": _patch_optimizer,
    "torchdata.stateful_dataloader.stateful_dataloader": _patch_stateful,
}


def instrument() -> None:
    """Patches the parts of torch that are imported. Repeated calls have no
    effect."""
    for name in PATCHES:
        if name in sys.modules:
            patch(sys.modules[name])


@guarded
def patch(module: Any) -> None:
    """Patches an imported module of PATCHES."""
    PATCHES[module.__name__](module)


@guarded
def adopt(loader: Any) -> None:
    """For a DataLoader that its user has watched: see adopt_iterators()."""
    adopt_iterators(loader, sys.modules[_DATALOADER]._BaseDataLoaderIter)


def is_measured(loader: Any) -> bool:
    """Returns whether the loader's batches are counted when it is iterated."""
    if not is_data_loader(loader):
        return False
    now = process(asked=True)
    if now is None or not is_patched(sys.modules[_DATALOADER].DataLoader):
        return False
    return mark_of(loader) is not None or not now.training.explicit
