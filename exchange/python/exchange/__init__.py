"""Sparse gradient exchange for data-parallel training.

    trainer = penstock.exchange.MirrorTrainer(model, optimizer, density=0.01)
    for images, labels in loader:
        criterion(model(images), labels).backward()
        optimizer.step()

mpirun or srun starts one process per rank. See penstock-python(7).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.exchange._activations import Activations as Activations
    from penstock.exchange._activations_plan import BudgetError as BudgetError
    from penstock.exchange._ddp_hook import DdpState as DdpState
    from penstock.exchange._ddp_hook import ddp_hook as ddp_hook
    from penstock.exchange._mirror_trainer import MirrorTrainer as MirrorTrainer
    from penstock.exchange._options import ExchangeOptions as ExchangeOptions

_MODULES = {
    "Activations": "_activations",
    "BudgetError": "_activations_plan",
    "DdpState": "_ddp_hook",
    "ExchangeOptions": "_options",
    "MirrorTrainer": "_mirror_trainer",
    "ddp_hook": "_ddp_hook",
}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:  # each module needs torch, the library or both
        import importlib

        module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
