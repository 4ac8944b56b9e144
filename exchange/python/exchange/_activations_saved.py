"""Placeholders of tensors saved for the backward pass: the tensor itself, or a
copy of its storage on the host."""

import collections
import time
import weakref
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from penstock.exchange._activations_cost import Allowance

# Smaller storages stay on the device: a copy costs more than it frees.
SMALL_BYTES = 1 << 16

NOTHING = Allowance(0, 0, 0)


def storage_of(tensor: torch.Tensor) -> Any:
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage()
    return tensor.storage().untyped()  # PyTorch 1.13


def has_plain_storage(tensor: torch.Tensor) -> bool:
    return (
        tensor.layout == torch.strided
        and not tensor.is_quantized
        and not tensor.is_conj()
        and not tensor.is_neg()
        and type(tensor) in (torch.Tensor, torch.nn.Parameter)
    )


def check_version(version: int, saved: int) -> None:
    """PyTorch does not check versions of tensors that have saved-tensor
    hooks."""
    if version != saved:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been "
            f"modified by an inplace operation: it is at version {version}; "
            f"expected version {saved} instead"
        )


class Version:
    """Detects in-place modification of a tensor without keeping its memory."""

    def __init__(self, tensor: torch.Tensor):
        # detach() shares the version counter with the tensor. Replacing .data
        # keeps the counter shared.
        self._counter = tensor.detach()
        self._counter.data = torch.empty(
            0, dtype=tensor.dtype, device=tensor.device
        )
        self._saved = tensor._version

    def check(self) -> None:
        check_version(self._counter._version, self._saved)


class Kept:
    """Keeps the tensor itself on the device."""

    def __init__(self, tensor: torch.Tensor):
        self._tensor = tensor.detach()
        self._saved = tensor._version

    def get(self) -> torch.Tensor:
        check_version(self._tensor._version, self._saved)
        return self._tensor


class _Storage:
    """A storage during its copy to the host, on the host, or during its
    return."""

    def __init__(self, tier: Any, tensor: torch.Tensor):
        storage = storage_of(tensor)
        self.version = tensor._version
        self.bytes = storage.nbytes()
        self.unasked = 0  # its tensors that backward has not fetched yet
        self.position = 0  # in Offloader's order
        self.allowance = NOTHING  # of the layer that needs it
        self.place = 0  # that layer's position
        self._weak = StorageWeakRef(storage)  # reserves the address
        self._tier = tier
        self._device = torch.empty(
            0, dtype=torch.uint8, device=tensor.device
        ).set_(storage)
        self._stays = False  # it was needed before its copy had ended
        self._host, self._out = tier.copy_out(self._device)
        self._in = None

    def __del__(self) -> None:
        copies = [copy for copy in (self._out, self._in) if copy is not None]
        for copy in copies:
            copy.cancel()
        self._tier.arena.retire(self._host, [copy.done for copy in copies])

    def is_leaving(self) -> bool:
        """Frees the device memory if the copy has ended; returns whether it has
        not."""
        if self._stays or self._device is None:
            return False
        if self._out.done():
            self._device = None
        return self._device is not None

    def is_away(self) -> bool:
        """Returns whether the original has left the device. A copy may be
        back."""
        return self._device is None

    def leave(self) -> None:
        self._out.finish()
        self.is_leaving()

    def fetch(self) -> None:
        if self._device is None and self._in is None:
            self._in = self._tier.copy_in(self._host)

    def get(self) -> torch.Tensor:
        """Returns all bytes of the storage, on the device."""
        if self.is_leaving():
            self._stays = self._out.cancel()
        if self._device is not None:
            return self._device
        self.fetch()
        return self._in.use()

    def asked(self) -> None:
        self.unasked -= 1
        if self.unasked <= 0:
            self._in = None


class _Offloaded:
    """A tensor whose storage is on the host."""

    def __init__(self, owner: "Offloader", storage: _Storage, tensor: Any):
        self._owner = owner
        self._storage = storage
        self._like = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        self._place = tensor.storage_offset(), tensor.size(), tensor.stride()
        self._version = Version(tensor)
        self._is_asked = False
        storage.unasked += 1

    def __del__(self) -> None:
        if not self._is_asked:
            self._storage.asked()

    def get(self) -> torch.Tensor:
        self._version.check()
        content = self._owner._bring(self._storage)
        if not self._is_asked:
            self._is_asked = True
            self._storage.asked()
        return self._like.detach().set_(storage_of(content), *self._place)


def _key_of(storage: Any, tensor: torch.Tensor) -> Any:
    """Returns the key of a unit that is sent once. The version of a modified
    tensor may differ from others in its storage; an LSTM cell's gates are an
    example."""
    is_whole = tensor.numel() * tensor.element_size() == storage.nbytes()
    if is_whole or tensor._version == 0:
        return storage._cdata
    place = tensor.storage_offset(), tensor.size(), tensor.stride()
    return storage._cdata, place


class Offloader:
    """Sends saved tensors to a tier, and prefetches them for the backward pass.
    The tensor saved last is needed first, so prefetching follows that order."""

    def __init__(self, tier: Any, kept: set[int]):
        """kept: addresses of storages that stay."""
        self._tier = tier
        self._kept = kept
        self._known: weakref.WeakValueDictionary[Any, _Storage] = (
            weakref.WeakValueDictionary()
        )
        self._order: list[Any] = []  # weak; the last saved is last
        self._leaving: list[Any] = []  # weak references; the oldest first
        self._allowance = NOTHING
        self._place = 0
        self.wait_s = 0.0  # seconds that the computation waited for the link

    def begin(self, allowance: Allowance) -> int:
        """Begins a layer's forward pass, whose tensors are packed from now on.
        Returns the layer's position, for reach()."""
        self._allowance = allowance
        self._forget_last()
        self._place = len(self._order)
        self._let_leave(allowance.leaving_bytes)
        return self._place

    def reach(self, place: int, allowance: Allowance) -> None:
        """Notes that the backward pass has reached the layer at `place`, which
        needs no offloaded tensors."""
        self._let_leave(allowance.late_bytes)
        self._fetch_ahead(place, place, allowance.ahead_bytes)

    def pack(self, tensor: torch.Tensor) -> Any:
        storage = storage_of(tensor) if has_plain_storage(tensor) else None
        if (
            storage is None
            or storage.nbytes() < SMALL_BYTES
            or storage._cdata in self._kept
        ):
            return Kept(tensor)
        key = _key_of(storage, tensor)
        known = self._known.get(key)
        if known is None or known.version != tensor._version:
            known = self._send(key, tensor)
        self._put_last(known)
        return _Offloaded(self, known, tensor)

    def _send(self, key: Any, tensor: torch.Tensor) -> _Storage:
        size = storage_of(tensor).nbytes()
        self._let_leave(self._allowance.leaving_bytes - size)
        sent = _Storage(self._tier, tensor)
        self._known[key] = sent
        self._leaving.append(weakref.ref(sent))
        return sent

    def _let_leave(self, most_bytes: int) -> None:
        """Waits until at most most_bytes are being copied to the host."""
        held = [storage for one in self._leaving if (storage := one())]
        leaving = collections.deque(one for one in held if one.is_leaving())
        leaving_bytes = sum(one.bytes for one in leaving)
        begin_s = time.perf_counter()
        while leaving and leaving_bytes > most_bytes:
            first = leaving.popleft()
            first.leave()
            leaving_bytes -= first.bytes
        self.wait_s += time.perf_counter() - begin_s
        self._leaving = list(map(weakref.ref, leaving))

    def _put_last(self, storage: _Storage) -> None:
        self._forget_last()
        storage.position = len(self._order)
        storage.allowance = self._allowance
        storage.place = self._place
        self._order.append(weakref.ref(storage))

    def _forget_last(self) -> None:
        """Drops unused storages from the end of the order."""
        while self._order and self._order[-1]() is None:
            self._order.pop()

    def _bring(self, storage: _Storage) -> torch.Tensor:
        storage.fetch()
        self._fetch_ahead(
            storage.position, storage.place, storage.allowance.ahead_bytes
        )
        begin_s = time.perf_counter()
        content = storage.get()
        self.wait_s += time.perf_counter() - begin_s
        self._let_leave(storage.allowance.late_bytes)
        return content

    def _fetch_ahead(self, position: int, place: int, most_bytes: int) -> None:
        """Prefetches the storages needed after the one at `position`: all of
        the same layer, which begins at `place`, and most_bytes of earlier
        layers."""
        ahead_bytes = 0
        for before in range(min(position, len(self._order)) - 1, -1, -1):
            storage = self._order[before]()
            if (
                storage is None
                or storage.position != before
                or not storage.unasked
                or not storage.is_away()
            ):
                continue
            ahead_bytes += storage.bytes if before < place else 0
            if ahead_bytes > most_bytes:
                break
            storage.fetch()
