"""What stands for a tensor that is saved for the backward pass: itself, or its
storage's copy on the host."""

import collections
import time
import weakref
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from penstock.exchange._activations_cost import Allowance

# Smaller storages stay: what they free is not worth a copy.
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
    """PyTorch itself does not look where there are hooks."""
    if version != saved:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been "
            f"modified by an inplace operation: it is at version {version}; "
            f"expected version {saved} instead"
        )


class Version:
    """Whether a tensor has been modified in place; does not keep its memory."""

    def __init__(self, tensor: torch.Tensor):
        # What detach() returns shares the count of modifications, and goes on
        # sharing it when .data is replaced.
        self._counter = tensor.detach()
        self._counter.data = torch.empty(
            0, dtype=tensor.dtype, device=tensor.device
        )
        self._saved = tensor._version

    def check(self) -> None:
        check_version(self._counter._version, self._saved)


class Kept:
    """The tensor itself."""

    def __init__(self, tensor: torch.Tensor):
        self._tensor = tensor.detach()
        self._saved = tensor._version

    def get(self) -> torch.Tensor:
        check_version(self._tensor._version, self._saved)
        return self._tensor


class _Storage:
    """A storage on its way to the host, there, or on its way back."""

    def __init__(self, tier: Any, tensor: torch.Tensor):
        storage = storage_of(tensor)
        self.version = tensor._version
        self.bytes = storage.nbytes()
        self.unasked = 0  # tensors of it that the backward pass has yet to get
        self.position = 0  # in Offloader's order
        self.allowance = NOTHING  # of the layer that needs it
        self.place = 0  # of that layer
        self._weak = StorageWeakRef(storage)  # so that no other has its address
        self._tier = tier
        self._device = torch.empty(
            0, dtype=torch.uint8, device=tensor.device
        ).set_(storage)
        self._stays = False  # it was needed before it had left
        self._host, self._out = tier.copy_out(self._device)
        self._in = None

    def __del__(self) -> None:
        copies = [copy for copy in (self._out, self._in) if copy is not None]
        for copy in copies:
            copy.cancel()
        self._tier.arena.retire(self._host, [copy.done for copy in copies])

    def is_leaving(self) -> bool:
        """Gives the device's memory up where that has become possible."""
        if self._stays or self._device is None:
            return False
        if self._out.done():
            self._device = None
        return self._device is not None

    def is_away(self) -> bool:
        """It has left; perhaps it is back, as a copy."""
        return self._device is None

    def leave(self) -> None:
        self._out.finish()
        self.is_leaving()

    def fetch(self) -> None:
        if self._device is None and self._in is None:
            self._in = self._tier.copy_in(self._host)

    def get(self) -> torch.Tensor:
        """All its bytes, on the device."""
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
    """Of what is sent once. A tensor that has been modified may have a count
    of modifications that is not that of others in its storage, as gates of an
    LSTM cell have."""
    is_whole = tensor.numel() * tensor.element_size() == storage.nbytes()
    if is_whole or tensor._version == 0:
        return storage._cdata
    place = tensor.storage_offset(), tensor.size(), tensor.stride()
    return storage._cdata, place


class Offloader:
    """Sends what is saved to a tier, and has it back in time: what was saved
    last is needed first, so the copies go ahead in that order."""

    def __init__(self, tier: Any, kept: set[int]):
        """kept: addresses of storages that stay."""
        self._tier = tier
        self._kept = kept
        self._known: weakref.WeakValueDictionary[Any, _Storage] = (
            weakref.WeakValueDictionary()
        )
        self._order: list[Any] = []  # weak; as saved last
        self._leaving: list[Any] = []  # weak, too; the oldest first
        self._allowance = NOTHING
        self._place = 0
        self.wait_s = 0.0  # that the computation waited for the link

    def begin(self, allowance: Allowance) -> int:
        """Of a layer's forward pass, whose tensors are packed from now on.
        Returns its place, for reach()."""
        self._allowance = allowance
        self._forget_last()
        self._place = len(self._order)
        self._let_leave(allowance.leaving_bytes)
        return self._place

    def reach(self, place: int, allowance: Allowance) -> None:
        """The backward pass has come to a layer there, which has its own."""
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
        """Until no more are leaving."""
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
        """What nobody needs any more, of those saved last."""
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
        """What is needed after the one at that position: all of the same layer,
        which has that place, and so many bytes of layers before."""
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
