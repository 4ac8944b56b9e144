"""Checks that all ranks begin with the same weights: only sums are
exchanged."""

import ctypes
import hashlib
import struct

from torch import Tensor

from penstock.exchange._layers import Layer
from penstock.exchange._native import Transport

_HEAD = struct.Struct("=II16s")  # goes on, number of layers, digest
_DIGEST_BYTES = 16


def check_same_weights(
    transport: Transport, layers: list[Layer], goes_on: bool, timeout_s: float
) -> None:
    """Collective: all ranks call it, including ranks that cannot go on. Raises
    ValueError on all ranks alike."""
    digests = [_digest(layer) for layer in layers] if goes_on else []
    whole = hashlib.blake2b(b"".join(digests), digest_size=_DIGEST_BYTES)
    head = _HEAD.pack(goes_on, len(digests), whole.digest())
    heads = transport.gather(head, timeout_s)
    counts = {_HEAD.unpack(each)[:2] for each in heads}
    if len(set(heads)) == 1 or counts != {(True, len(layers))}:
        return  # the exchange's plan reports other differences
    of_ranks = transport.gather(b"".join(digests), timeout_s)
    for layer in layers:
        place = slice(
            layer.number * _DIGEST_BYTES, (layer.number + 1) * _DIGEST_BYTES
        )
        for rank, theirs in enumerate(of_ranks):
            if theirs[place] != of_ranks[0][place]:
                raise ValueError(
                    f"rank {rank} begins with another {layer.name} than rank "
                    "0: set the same seed on all ranks before the model is "
                    "made, or load the same file into it"
                )


def _digest(layer: Layer) -> bytes:
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    digest.update(f"{layer.name} {tuple(layer.parameter.shape)}".encode())
    weights = layer.parameter.detach().cpu()
    digest.update(_memory(weights))
    return digest.digest()


def _memory(tensor: Tensor) -> memoryview:
    """Returns the tensor's memory, valid as long as the tensor. Works without
    NumPy, which torch may lack."""
    count = tensor.numel() * tensor.element_size()
    return memoryview((ctypes.c_char * count).from_address(tensor.data_ptr()))
