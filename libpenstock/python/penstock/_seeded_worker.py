"""A worker process of which each batch has random streams of its own."""

import hashlib
import random
import sys
from typing import Any

from penstock._crew_board import Task
from penstock._crew_worker import Seat


class SeededSeat(Seat):
    """Takes any task, and seeds the random streams for it."""

    any_process = True
    parts = ("base_seed", "done_event")

    def begin(self, parts: dict[str, Any]) -> None:
        super().begin(parts)
        self._base_seed = parts["base_seed"]

    def _take(self) -> Task | None:
        board = self._memory.board
        with self._memory.locked():
            task = board.take(self._number)
            wake = board.wake()
        if wake is not None:
            self._memory.ring(wake)
        return task

    def _enter(self, task: Task) -> None:
        batch = self._memory.board.skipped + task.number
        seed_streams(self._base_seed, batch)


def seed_streams(base_seed: int, batch: int) -> None:
    """Seeds torch's, Python's and numpy's global streams for a batch of the
    epoch."""
    text = f"{base_seed} {batch}".encode()
    digest = hashlib.blake2b(text, digest_size=8).digest()
    seed = int.from_bytes(digest, "big")
    random.seed(seed)
    sys.modules["torch"].manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed([seed >> 32, seed & 0xFFFFFFFF])
