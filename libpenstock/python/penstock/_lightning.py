"""Reports the batches of a Lightning trainer, without importing Lightning."""

import time
from collections.abc import Mapping
from typing import Any

from penstock._batch import batch_samples
from penstock._client import default_client
from penstock._instrument import is_measured
from penstock._process import count_only_what_is_watched
from penstock._run_delay import begin_wait, end_wait, take_delay_ns
from penstock._watched import Watched


class LightningCallback:
    """Callback for Trainer(callbacks=[...]) of Lightning 2.

    Reports each training batch and its wait to penstockd. The wait lasts from
    the end of the previous batch, of a validation, or from the epoch's start to
    the batch's own start. It includes Lightning's own work, such as moving the
    batch to the device, and other callbacks. penstock.watch() around the loader
    measures the loader alone. If the trainer's loader is measured anyway, the
    callback does nothing.

    The class has every method that Lightning calls. Some releases accept only
    callbacks of their own class; for these, derive

        class Mine(penstock.LightningCallback, lightning.Callback)
    """

    _begin_ns = 0  # 0: no wait in progress
    _watched = False

    @property
    def state_key(self) -> str:
        return type(self).__qualname__

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        pass

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._watched = _is_watched(getattr(trainer, "train_dataloader", None))
        if not self._watched:
            count_only_what_is_watched()
        self._wait()

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self._wait()

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        if self._begin_ns:
            wait_ns = time.monotonic_ns() - self._begin_ns
            self._end_wait()
            loader = getattr(trainer, "train_dataloader", None)
            samples = batch_samples(batch, loader)
            client = default_client()
            client.add_batch(samples, wait_ns, None, take_delay_ns())

    def on_train_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        self._wait()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if not getattr(trainer, "sanity_checking", False):
            self._wait()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._end_wait()

    def on_exception(
        self, trainer: Any, pl_module: Any, exception: BaseException | None
    ) -> None:
        self._end_wait()

    def __getattr__(self, name: str) -> Any:
        """Provides every hook, because Lightning calls each hook of each
        callback."""
        if name.startswith("on_") or name in ("setup", "teardown"):
            return _no_hook
        if name == "_legacy_state_key":
            return self.state_key
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}"
        )

    def _wait(self) -> None:
        self._end_wait()
        if not self._watched:
            self._begin_ns = begin_wait()

    def _end_wait(self) -> None:
        if self._begin_ns:
            end_wait()
        self._begin_ns = 0


def _no_hook(*_: Any, **__: Any) -> None:
    pass


def _is_watched(loader: Any) -> bool:
    """loader: Lightning's training loader, or a list or mapping of loaders."""
    if isinstance(loader, Mapping):
        loader = list(loader.values())
    if isinstance(loader, (list, tuple)):
        return any(map(_is_watched, loader))
    return isinstance(loader, Watched) or is_measured(loader)
