"""Decides which process does which task of a DataLoader's workers. Pure."""

from collections.abc import MutableSequence
from typing import NamedTuple

_WANTED = 0  # number of processes
_ENDED = 1
_ANY = 2  # any process does any task
_SKIPPED = 3  # batches of the epoch before the first task
_HEAD = 4
# Columns: a word of each worker, or of the process with the same number.
_RUNNER = 0  # process that does the worker's task + 1, or 0
_LAST = 1  # process that did its last task + 1
_STORED = 2  # its random streams are in memory, not in the last process
_VERDICT = 3
_IDLE = 4  # the process waits for its bell
_TASKS_NS = 5  # that the process has spent in its tasks
_COLUMNS = 6

_STATELESS = 1
_STATEFUL = 2

_FREE = 0
_TAKEN = -1  # the task is being read
_MAX_WORKERS = 1 << 16


class Task(NamedTuple):
    slot: int
    number: int
    worker: int
    moved: bool  # another process did the worker's last task


class Board:
    """A table of workers, processes and open tasks, in words that all
    processes share.

    A worker is what torch calls one: an id with its own random streams. Its
    tasks are done one after the other, by number. A process does the task of
    any worker, unless all processes work, or the dataset may have state: then
    each process does the tasks of its own worker only. With any_process, tasks
    have no workers: each process takes the first that is open.

    Callers hold the lock, except for wanted, ended, processes(), all_work(),
    free_slot(), tasks_ns(), and a process's own add_time()."""

    def __init__(self, words: MutableSequence[int], workers: int):
        """words: size_words() zeros at first."""
        self.workers = workers
        self._words = words
        self._slots = _HEAD + workers * _COLUMNS

    @staticmethod
    def size_words(workers: int, slots: int) -> int:
        return _HEAD + workers * _COLUMNS + slots

    def begin(self, any_process: bool = False, skipped: int = 0) -> None:
        """Before the first process: each worker starts in its own process,
        and is busy until that calls finish()."""
        self._words[_WANTED] = self.workers
        self._words[_ANY] = any_process
        self._words[_SKIPPED] = skipped
        for worker in range(self.workers):
            self._set(worker, _RUNNER, worker + 1)
            self._set(worker, _LAST, worker + 1)

    @property
    def ended(self) -> bool:
        return bool(self._words[_ENDED])

    def end(self) -> None:
        self._words[_ENDED] = 1

    @property
    def skipped(self) -> int:
        return self._words[_SKIPPED]

    @property
    def wanted(self) -> int:
        return self._words[_WANTED]

    @wanted.setter
    def wanted(self, processes: int) -> None:
        self._words[_WANTED] = max(1, min(self.workers, processes))

    def processes(self) -> int:
        """Returns how many work now: those with the lowest numbers. All do
        until each worker's first task has shown that it keeps no state."""
        if self._words[_ANY]:
            return self._words[_WANTED]
        if self._column(_VERDICT).count(_STATELESS) < self.workers:
            return self.workers
        return self._words[_WANTED]

    def all_work(self) -> bool:
        return self.processes() == self.workers

    def judge(self, worker: int, stateless: bool) -> None:
        if self._get(worker, _VERDICT) != _STATEFUL:
            verdict = _STATELESS if stateless else _STATEFUL
            self._set(worker, _VERDICT, verdict)

    def stateful_workers(self) -> list[int]:
        verdicts = enumerate(self._column(_VERDICT))
        return [worker for worker, seen in verdicts if seen == _STATEFUL]

    def free_slot(self) -> int:
        """Raises ValueError if there is none."""
        return list(self._words[self._slots :]).index(_FREE)

    def slot_entry(self, slot: int, number: int, worker: int) -> tuple:
        """Returns the word that opens a task, and its place."""
        return self._slots + slot, (number + 1) * _MAX_WORKERS + worker

    def release(self, slot: int) -> None:
        """After the task is read."""
        self._words[self._slots + slot] = _FREE

    def take(self, process: int) -> Task | None:
        """Returns the first task that the process may do, or marks it idle."""
        found = self._first(self._open(), process, self.processes())
        self._set(process, _IDLE, found is None)
        return found and self._give(process, *found)

    def take_again(self, process: int, worker: int) -> Task | None:
        """As take(), but only a task of this worker; marks nothing idle."""
        tasks = [it for it in self._open() if it[0] % _MAX_WORKERS == worker]
        found = self._first(tasks, process, self.processes())
        return found and self._give(process, *found)

    def _give(self, process: int, word: int, slot: int) -> Task:
        number, worker = divmod(word, _MAX_WORKERS)
        moved = self._get(worker, _LAST) != process + 1
        self._words[self._slots + slot] = _TAKEN
        self._set(worker, _RUNNER, process + 1)
        self._set(worker, _LAST, process + 1)
        self._set(worker, _STORED, 0)
        return Task(slot, number - 1, worker, moved)

    def finish(self, worker: int) -> None:
        """The worker's task is done; only its last process continues it until
        its streams are stored."""
        self._set(worker, _RUNNER, 0)

    def store(self, worker: int, process: int) -> None:
        """The process has stored the worker's streams. Has no effect if
        another process has taken the worker over since."""
        if self._get(worker, _LAST) == process + 1:
            self._set(worker, _STORED, 1)

    def wake(self) -> int | None:
        """Returns an idle process that has a task to do, no longer marked."""
        count = self.processes()
        idle = [process for process in self.idle() if process < count]
        tasks = self._open() if idle else []
        for process in idle:
            if self._first(tasks, process, count):
                self._set(process, _IDLE, 0)
                return process
        return None

    def idle(self) -> list[int]:
        """Returns the processes that wait for their bell."""
        states = enumerate(self._column(_IDLE))
        return [process for process, idle in states if idle]

    def add_time(self, process: int, spent_ns: int) -> None:
        spent_ns += self._get(process, _TASKS_NS)
        self._set(process, _TASKS_NS, spent_ns)

    def tasks_ns(self) -> int:
        return sum(self._column(_TASKS_NS))

    def _open(self) -> list[tuple[int, int]]:
        # The trainer opens tasks meanwhile. A later one of a worker may be seen
        # without an earlier one, whose slot was read before it was opened: two
        # equal readings are what the slots had at one time.
        words = list(self._words[self._slots :])
        while (again := list(self._words[self._slots :])) != words:
            words = again
        return sorted(
            (word, slot) for slot, word in enumerate(words) if word > _FREE
        )

    def _first(
        self, tasks: list[tuple[int, int]], process: int, count: int
    ) -> tuple[int, int] | None:
        if process >= count:
            return None
        if self._words[_ANY]:
            return tasks[0] if tasks else None
        for word, slot in tasks:
            worker = word % _MAX_WORKERS
            if count == self.workers and worker != process:
                continue
            if self._get(worker, _RUNNER):
                continue
            last = self._get(worker, _LAST) == process + 1
            if last or self._get(worker, _STORED):
                return word, slot
        return None

    def _column(self, column: int) -> list[int]:
        begin = _HEAD + column * self.workers
        return list(self._words[begin : begin + self.workers])

    def _get(self, worker: int, column: int) -> int:
        return self._words[_HEAD + column * self.workers + worker]

    def _set(self, worker: int, column: int, value: int) -> None:
        self._words[_HEAD + column * self.workers + worker] = int(value)
