"""The host's memory, where activations wait for the backward pass, and the
copies to it and back.

A tier copies whole storages, as flat tensors of bytes, behind the computation's
back. HostTier is for a GPU. RatedHostTier stands for one where there is none:
its "device" is the CPU's memory as well.
"""

import collections
import mmap
import threading
import time
from typing import Any, Callable

import torch


class HostArena:
    """Buffers that are used again: a step needs the same ones as the last."""

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
        """Free once these copies of it are done; waits for nothing, because
        the garbage collector may be what calls, in any thread."""
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
        self.done = self._event.query  # without the target

    def finish(self) -> None:
        self._event.synchronize()

    def cancel(self) -> bool:
        """Whether it will not take place any more."""
        return False

    def use(self) -> torch.Tensor:
        """For the current stream, which waits, and not the caller."""
        stream = torch.cuda.current_stream(self._target.device)
        stream.wait_event(self._event)
        self._target.record_stream(stream)
        return self._target


class HostTier:
    """Pinned memory beside one GPU, and a stream for each way."""

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
        self.done = self._ended.is_set  # without the target

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
    """Stands for the host's memory where there is no GPU: a thread copies, one
    storage at a time, and rests so that no more than rate_bytes_per_s get
    through. Unlike a GPU's copy engine it needs a core while it copies."""

    def __init__(self, rate_bytes_per_s: float):
        if not rate_bytes_per_s > 0:
            raise ValueError(
                f"rate_bytes_per_s={rate_bytes_per_s}: a copy needs a rate "
                "above 0"
            )
        self.device = torch.device("cpu")
        self.rate_bytes_per_s = rate_bytes_per_s
        # Mapped, so that what counts the device's allocations leaves it out.
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
        """Computation on a CPU is never behind."""

    def close(self) -> None:
        """After what is under way."""
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
        except ValueError:  # under way, or done
            return False
        return True

    def _copy_all(self) -> None:
        free_s = 0.0  # when the link has let through what was copied
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
            del copy  # its storages are not this thread's to keep
