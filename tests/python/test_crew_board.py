"""Elastic workers without processes: seats of all processes in threads of
which one runs at a time, chosen by a seeded random sequence, so that it meets
at any step with any other. Each worker's streams continue where its last task
left them, no task is lost or done twice, and no bell is missed."""

import contextlib
import queue
import random
import threading
import unittest
from unittest import mock

from penstock import _exact_streams, _exact_worker
from penstock._crew_board import Board
from penstock._exact_worker import ExactSeat

SEEDS = range(60)


class Stage:
    """Threads that hand control back at each step."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.turn = threading.Semaphore(0)
        self.local = threading.local()
        self.held = None  # who has the lock

    def step(self):
        """Ends the thread's turn, and waits for the next one."""
        self.turn.release()
        self.local.actor.go.acquire()

    def give(self, actor):
        actor.go.release()
        self.turn.acquire()


class Words(list):
    """Words that others change while a process reads some of them."""

    def __init__(self, stage, size):
        super().__init__([0] * size)
        self.stage = stage

    def __getitem__(self, key):
        if not isinstance(key, slice) or not hasattr(
            self.stage.local, "actor"
        ):
            return super().__getitem__(key)
        words = []
        for place in range(*key.indices(len(self))):
            words.append(super().__getitem__(place))
            if self.stage.random.random() < 0.03:
                self.stage.step()
        return words


class Memory:
    """As SharedMemory, with a list of words."""

    def __init__(self, stage, workers, slots):
        self.stage = stage
        words = Words(stage, Board.size_words(workers, slots))
        self.board = Board(words, workers)
        self.board.begin()
        self.streams, self.tasks, self.rung = {}, {}, set()

    @contextlib.contextmanager
    def locked(self):
        self.stage.step()
        while self.stage.held is not None:
            self.stage.step()
        self.stage.held = threading.current_thread()
        self.stage.step()
        try:
            yield
        finally:
            self.stage.held = None
            self.stage.step()

    def ring(self, process):
        self.rung.add(process)

    def ring_all(self):
        self.rung.update(range(self.board.workers))

    def wait(self, process, timeout):
        while process not in self.rung:
            self.stage.step()
        self.rung.discard(process)

    def write_streams(self, worker, streams):
        self.streams[worker] = streams
        self.stage.step()

    def read_streams(self, worker):
        self.stage.step()
        return self.streams[worker]

    def read_task(self, slot):
        self.stage.step()
        return self.tasks[slot]

    def write_reason(self, process, reason):
        pass

    # The trainer's part, which never waits.
    def open_task(self, number, worker, indices):
        slot = self.board.free_slot()
        self.tasks[slot] = indices
        word, entry = self.board.slot_entry(slot, number, worker)
        self.board._words[word] = entry

    def wake(self):
        if self.stage.held is not None:
            self.rung.update(range(self.board.processes()))
            return
        process = self.board.wake()
        if process is not None:
            self.ring(process)


class Watch:
    """In place of StateWatch: the dataset shows state at a given task."""

    def __init__(self, fatal):
        self.calls, self.fatal = 0, fatal

    def changed(self, failed):
        self.calls += 1
        return "state" if self.calls == self.fatal else None

    @property
    def settled(self):
        return self.calls > 1


class Actor(threading.Thread):
    """A process: torch's loop around a seat. Its streams are a counter."""

    def __init__(self, play, number, fatal):
        super().__init__(daemon=True)
        self.play, self.number = play, number
        self.go = threading.Semaphore(0)
        self.seat = ExactSeat(number, play.memory, None)
        self.seat._watch = Watch(fatal)
        self.seat._done_event = threading.Event()
        self.seat._done_event.set()
        self.seat._show_info = lambda worker: None
        self.streams = f"{number}:0"
        self.over, self.error = False, None

    def run(self):
        self.go.acquire()
        self.play.stage.local.actor = self
        try:
            while self.work():
                pass
        except BaseException as error:
            self.error = error
        self.over = True
        self.play.stage.turn.release()

    def work(self):
        try:
            task = self.seat.get(5)
        except queue.Empty:
            return True
        if task is None:
            return False
        worker, drawn = self.streams.split(":")
        for _ in range(self.play.stage.random.choice((1, 1, 1, 9))):
            self.play.stage.step()
        self.streams = f"{worker}:{int(drawn) + 1}"
        self.play.done.append((*task, self.number, int(worker), int(drawn)))
        return True


class Play:
    """An epoch with a trainer that keeps some tasks open."""

    def __init__(self, seed, workers, tasks, fatal=None):
        self.stage = Stage(seed)
        self.memory = Memory(self.stage, workers, 3 * workers)
        self.done = []
        self.tasks, self.workers = tasks, workers
        self.actors = [
            Actor(self, number, fatal if number == 1 else None)
            for number in range(workers)
        ]

    def streams(self):
        return self.stage.local.actor

    def run(self):
        opened = steps = 0
        for actor in self.actors:
            actor.start()
        while len(self.done) < self.tasks:
            steps += 1
            assert steps < 50_000, f"stuck: {self.done}"
            if (
                opened < self.tasks
                and opened - len(self.done) < 2 * self.workers
                and self.stage.random.random() < 0.2
            ):
                self.memory.open_task(opened, opened % self.workers, opened)
                opened += 1
                self.memory.wake()
            elif (
                len(self.done) < self.tasks / 2  # later nothing rings all
                and self.stage.random.random() < 0.02
            ):
                self.memory.board.wanted = self.stage.random.randint(
                    1, self.workers
                )
                self.memory.ring_all()
            else:
                self.give(self.stage.random.choice(self.actors))
        self.memory.board.end()
        self.memory.ring_all()
        while not all(actor.over for actor in self.actors):
            self.give(self.stage.random.choice(self.actors))

    def give(self, actor):
        if not actor.over:
            self.stage.give(actor)
        if actor.error:
            raise actor.error


class SuccessionTest(unittest.TestCase):
    def test_every_second_task_is_of_the_same_worker(self):
        stage = mock.Mock(held=None, local=None)
        memory = Memory(stage, 3, 6)
        seat = ExactSeat(0, memory, None)
        seat._watch = Watch(None)
        seat._done_event = threading.Event()
        seat._show_info = lambda worker: None
        memory.board.wanted = 1
        for worker in range(3):
            memory.board.judge(worker, True)
            memory.board.finish(worker)
            memory.board.store(worker, worker)
            memory.write_streams(worker, b"")
        for number in range(6):
            memory.open_task(number, number % 3, number)
        with mock.patch.multiple(
            _exact_worker._exact_streams, save=bytes, load=len
        ):
            numbers = [seat.get(1)[0] for _ in range(6)]
        self.assertEqual(numbers, [0, 3, 1, 4, 2, 5])


class BoardTest(unittest.TestCase):
    def play(self, seed, workers, fatal=None, drop=False):
        play = Play(seed, workers, 60, fatal)

        def load(saved):
            play.streams().streams = play.streams().streams if drop else saved

        with mock.patch.multiple(
            _exact_worker._exact_streams,
            save=lambda: play.streams().streams,
            load=load,
        ):
            play.run()
        return play

    def check(self, play):
        numbers = sorted(task[0] for task in play.done)
        self.assertEqual(numbers, list(range(60)))
        drawn = [0] * play.workers
        for number, indices, _, worker, draw in play.done:
            self.assertEqual(indices, number)
            self.assertEqual(worker, number % play.workers)
            self.assertEqual(draw, number // play.workers)
            self.assertEqual(draw, drawn[worker])
            drawn[worker] += 1

    def test_streams_and_tasks_survive_any_order_of_events(self):
        moves = 0
        for seed in SEEDS:
            with self.subTest(seed=seed):
                play = self.play(seed, 2 + seed % 5)
                self.check(play)
                moves += any(t[2] != t[3] for t in play.done)
        self.assertGreater(moves, len(SEEDS) // 2)

    def test_a_dataset_with_state_gets_its_own_process_again(self):
        for seed in SEEDS[:15]:
            for fatal in (1, 2, 5):
                with self.subTest(seed=seed, fatal=fatal):
                    play = self.play(seed, 3, fatal)
                    self.check(play)
                    if fatal < 3:  # before any process takes another's task
                        self.assertTrue(all(t[2] == t[3] for t in play.done))

    def test_the_check_notices_streams_that_stay_behind(self):
        with self.assertRaises(AssertionError):
            self.check(self.play(1, 4, drop=True))


class RulesTest(unittest.TestCase):
    def board(self, workers=3):
        board = Board([0] * Board.size_words(workers, 6), workers)
        board.begin()
        for worker in range(workers):
            board.finish(worker)
            board.store(worker, worker)
            board.judge(worker, True)
        return board

    def open(self, board, number, worker):
        slot = board.free_slot()
        word, entry = board.slot_entry(slot, number, worker)
        board._words[word] = entry

    def test_all_processes_work_until_each_worker_is_judged(self):
        board = Board([0] * Board.size_words(3, 6), 3)
        board.begin()
        board.wanted = 1
        board.judge(0, True)
        board.judge(1, True)
        self.assertEqual(board.processes(), 3)
        board.judge(2, True)
        self.assertEqual(board.processes(), 1)

    def test_state_once_seen_is_not_forgotten(self):
        board = self.board()
        board.wanted = 2
        board.judge(1, False)
        board.judge(1, True)
        self.assertEqual(board.processes(), 3)
        self.assertEqual(board.stateful_workers(), [1])

    def test_the_number_of_processes_is_kept_in_its_range(self):
        board = self.board()
        for given, kept in ((-3, 1), (0, 1), (2, 2), (3, 3), (9, 3)):
            board.wanted = given
            self.assertEqual(board.processes(), kept)

    def test_two_processes_share_three_workers_without_waiting(self):
        board = self.board()
        board.wanted = 2
        for number in range(3):
            self.open(board, number, number)
        self.assertEqual(board.take(0).number, 0)
        self.assertEqual(board.take(1).number, 1)
        board.finish(0)
        self.assertEqual(board.take(0).number, 2)

    def test_a_process_may_ask_for_another_task_of_its_worker(self):
        board = self.board()
        board.wanted = 1
        for number in (0, 1, 3):
            self.open(board, number, number % 3)
        self.assertEqual(board.take(0).number, 0)
        board.finish(0)
        self.assertEqual(board.take_again(0, 0), (2, 3, 0, False))
        board.finish(0)
        self.assertIsNone(board.take_again(0, 0))
        self.assertEqual(board.idle(), [])
        self.assertEqual(board.take(0).number, 1)

    def test_a_process_to_be_parked_gets_no_other_task_of_its_worker(self):
        board = self.board()
        for number in (1, 4):
            self.open(board, number, 1)
        self.assertEqual(board.take(1).number, 1)
        board.finish(1)
        board.wanted = 1
        self.assertIsNone(board.take_again(1, 1))

    def test_a_parked_process_takes_nothing_and_is_not_woken(self):
        board = self.board()
        board.wanted = 2
        self.open(board, 0, 2)
        self.assertIsNone(board.take(2))
        self.assertIsNone(board.wake())
        self.assertEqual(board.take(1).worker, 2)


if __name__ == "__main__":
    unittest.main()
