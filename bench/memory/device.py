"""The memory for training: a GPU's, or else the arena of device_arena.c, which
emulates it."""

import ctypes
import resource

import torch


class _Arena:
    """The arena of a process that has preloaded it."""

    name = "cpu"

    def __init__(self):
        self._library = ctypes.CDLL(None)
        for name in ("current", "peak"):
            function = getattr(self._library, f"device_arena_{name}")
            function.restype = ctypes.c_size_t

    def current_bytes(self):
        return self._library.device_arena_current()

    def peak_bytes(self):
        return self._library.device_arena_peak()

    def reset_peak(self):
        self._library.device_arena_reset_peak()

    def set_limit(self, size):
        self._library.device_arena_set_limit(ctypes.c_size_t(size))

    def synchronize(self):
        """Does nothing: computation on a CPU is synchronous."""


class _Cuda:
    name = "cuda"

    def current_bytes(self):
        return torch.cuda.memory_allocated()

    def peak_bytes(self):
        return torch.cuda.max_memory_allocated()

    def reset_peak(self):
        torch.cuda.reset_peak_memory_stats()

    def set_limit(self, size):
        whole = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(size / whole)

    def synchronize(self):
        torch.cuda.synchronize()


def device():
    return _Cuda() if torch.cuda.is_available() else _Arena()


def most_rss_bytes():
    """Returns the peak RSS of this process since its start."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
