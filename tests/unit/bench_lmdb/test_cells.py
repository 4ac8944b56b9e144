"""Cells: what runs of a cell have to agree on."""

import pathlib
import unittest

from bench_lmdb import cells, databases

DATABASE = databases.Database("12k", pathlib.Path("/d/data.mdb"), 32)
CELL = cells.Cell(DATABASE, 2, False, False)


def line(**changed):
    return {"seconds": 2, "requests": 4, "read_bytes": 800, "bytes": 600,
            "cpu_s": 0.5, "records": 10, "checksum": 2 ** 64 - 1,
            "sidecar_refusal": "", **changed}


class Played:
    """A program whose runs have these lines, one after the other."""

    def __init__(self, *runs):
        self._runs = list(runs)
        self.words = []

    def run(self, _ranks, words, _group):
        self.words.append(words)
        return self._runs.pop(0)


class Cells(unittest.TestCase):

    def compare(self, *runs, rounds=1):
        self.program = Played(*runs)
        return cells.Runner(self.program, None, rounds).compare(CELL)

    def test_ranks_are_one_run(self):
        run = cells.summed([line(seconds=1), line()])
        self.assertEqual(run, cells.Run(1200, 600, 1.0, 20, 800, 200,
                                        2 ** 64 - 2))

    def test_turns_alternate_and_warm_cells_are_warmed(self):
        half = line(seconds=1)
        compared = self.compare([half], [line()], [half], [half], [line()],
                                rounds=2)
        self.assertEqual([words[2] for words in self.program.words],
                         [cells.OURS, "none", cells.OURS, cells.OURS, "none"])
        self.assertEqual(compared.ratios, [2, 2])

    def test_a_wrong_checksum_ends_it(self):
        with self.assertRaisesRegex(RuntimeError, "12k.*checksums differ"):
            self.compare([line()], [line()], [line(checksum=3)])

    def test_a_run_that_was_ended_has_its_own_checksum(self):
        self.compare([line()], [line(records=3, checksum=3)], [line()])

    def test_ours_is_compared_where_stock_was_ended(self):
        ended = line(records=3, checksum=3)
        with self.assertRaisesRegex(RuntimeError, "checksums differ"):
            self.compare([line()], [ended], [line()], [line(checksum=9)],
                         [ended], rounds=2)

    def test_an_index_that_was_not_used_ends_it(self):
        with self.assertRaisesRegex(RuntimeError, "is stale.*lmdb index"):
            cells.summed([line(), line(sidecar_refusal="x is stale")])


if __name__ == "__main__":
    unittest.main()
