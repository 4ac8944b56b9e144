"""Host memory that holds activations until the backward pass, and the copies
between device and host.

A tier copies whole storages, as flat byte tensors, in the background. HostTier
serves a GPU. RatedHostTier simulates one on machines without a GPU; its
"device" is CPU memory too.
"""

import collections
import mmap
import threading
import time
from typing import Any, Callable

import torch


class HostArena:
    """Reuses buffers: each step needs the same ones as the last."""

    def __init__(self, allocate: Callable[[int], torch.Tensor]):
        self._allocate = allocate
        self._free: dict[int, list[torch.Tensor]] = {}
        self._retired: collections.deque[Any] = collections.deque()
        self.used_bytes = 0
        self.peak_bytes = 0

    def take(self, size: int) -> torch.Tensor:
        self._reap()
        free = self._free.get(size)
        buffer = free.pop() if free else self._allocate(size)
        self.used_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.used_bytes)
        return buffer

    def retire(
        self, buffer: torch.Tensor, ends: list[Callable[[], bool]]
    ) -> None:
        """Frees the buffer once these copies are done. Does not wait, because
        the garbage collector may call it in any thread."""
        self._retired.append((buffer, ends))

    def _reap(self) -> None:
        for _ in range(len(self._retired)):
            buffer, ends = self._retired.popleft()
            if all(done() for done in ends):
                self.used_bytes -= buffer.numel()
                self._free.setdefault(buffer.numel(), []).append(buffer)
            else:
                self._retired.append((buffer, ends))


class _CudaCopy:
    def __init__(self, target: torch.Tensor, stream: Any):
        self._target = target
        self._event = stream.record_event()
        self.done = self._event.query  # without a reference to the target

    def finish(self) -> None:
        self._event.synchronize()

    def cancel(self) -> bool:
        """Returns whether the copy was prevented."""
        return False

    def use(self) -> torch.Tensor:
        """Makes the current stream wait for the copy, not the caller."""
        stream = torch.cuda.current_stream(self._target.device)
        stream.wait_event(self._event)
        self._target.record_stream(stream)
        return self._target


class HostTier:
    """Pinned memory for one GPU, with one stream per direction."""

    def __init__(self, device: Any = None):
        self.device = torch.device("cuda" if device is None else device)
        self.arena = HostArena(
            lambda size: torch.empty(size, dtype=torch.uint8, pin_memory=True)
        )
        self._out = torch.cuda.Stream(self.device)
        self._in = torch.cuda.Stream(self.device)

    def copy_out(self, source: torch.Tensor) -> tuple[torch.Tensor, _CudaCopy]:
        buffer = self.arena.take(source.numel())
        self._out.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self._out):
            buffer.copy_(source, non_blocking=True)
        source.record_stream(self._out)
        return buffer, _CudaCopy(buffer, self._out)

    def copy_in(self, buffer: torch.Tensor) -> _CudaCopy:
        with torch.cuda.stream(self._in):
            target = torch.empty(
                buffer.numel(), dtype=torch.uint8, device=self.device
            )
            target.copy_(buffer, non_blocking=True)
            return _CudaCopy(target, self._in)

    def synchronize(self) -> None:
        torch.cuda.synchronize(self.device)

    def close(self) -> None:
        self.synchronize()


class _RatedCopy:
    def __init__(self, tier: "RatedHostTier", target: Any, source: Any):
        self._tier = tier
        self._target, self._source = target, source
        self._ended = threading.Event()
        self.done = self._ended.is_set  # without a reference to the target

    def run(self) -> int:
        self._target.copy_(self._source)
        return self._target.numel()

    def end(self) -> None:
        self._source = None
        self._ended.set()

    def finish(self) -> None:
        if not self.done():
            self._tier._hurry(self)
            self._ended.wait()

    def cancel(self) -> bool:
        if not self._tier._forget(self):
            return False
        self.end()
        return True

    def use(self) -> torch.Tensor:
        self.finish()
        return self._target


class RatedHostTier:
    """Simulates host memory on machines without a GPU.

    A thread copies one storage at a time, and sleeps to limit the rate to
    rate_bytes_per_s. Unlike a GPU's copy engine, it uses a core while it
    copies."""

    def __init__(self, rate_bytes_per_s: float):
        if not rate_bytes_per_s > 0:
            raise ValueError(
                f"rate_bytes_per_s={rate_bytes_per_s}: a copy needs a rate "
                "above 0"
            )
        self.device = torch.device("cpu")
        self.rate_bytes_per_s = rate_bytes_per_s
        # Mapped memory, so that counters of device allocations exclude it.
        self.arena = HostArena(
            lambda size: torch.frombuffer(mmap.mmap(-1, size), dtype=torch.uint8)
        )
        self._queue: collections.deque[_RatedCopy] = collections.deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(
            target=self._copy_all, name="penstock-copy", daemon=True
        )
        self._thread.start()

    def copy_out(self, source: torch.Tensor) -> tuple[torch.Tensor, _RatedCopy]:
        buffer = self.arena.take(source.numel())
        return buffer, self._enqueue(_RatedCopy(self, buffer, source))

    def copy_in(self, buffer: torch.Tensor) -> _RatedCopy:
        target = torch.empty(buffer.numel(), dtype=torch.uint8)
        return self._enqueue(_RatedCopy(self, target, buffer))

    def synchronize(self) -> None:
        """Does nothing: computation on a CPU is synchronous."""

    def close(self) -> None:
        """Ends the thread after the pending copies."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _enqueue(self, copy: _RatedCopy) -> _RatedCopy:
        with self._changed:
            self._queue.append(copy)
            self._changed.notify()
        return copy

    def _hurry(self, copy: _RatedCopy) -> None:
        if self._forget(copy):
            with self._changed:
                self._queue.appendleft(copy)
                self._changed.notify()

    def _forget(self, copy: _RatedCopy) -> bool:
        try:
            self._queue.remove(copy)
        except ValueError:  # in progress or done
            return False
        return True

    def _copy_all(self) -> None:
        free_s = 0.0  # time at which the simulated link is free
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closed)
                if not self._queue:
                    return
                copy = self._queue.popleft()
            begin_s = max(free_s, time.monotonic())
            free_s = begin_s + copy.run() / self.rate_bytes_per_s
            time.sleep(max(0.0, free_s - time.monotonic()))
            copy.end()
            del copy  # releases the storages in this thread
