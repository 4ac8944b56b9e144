"""Cells: what runs of a cell have to agree on."""

import pathlib
import unittest

from bench.lmdb import cells, databases

# Warm cells read it into the page cache: any file will do.
DATABASE = databases.Database("12k", pathlib.Path(__file__), 32)
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

    def test_turns_alternate(self):
        half = line(seconds=1)
        compared = self.compare([line()], [half], [half], [line()], rounds=2)
        self.assertEqual([words[2] for words in self.program.words],
                         ["none", cells.OURS, cells.OURS, "none"])
        self.assertEqual(compared.ratios, [2, 2])

    def test_warm_runs_read_many_epochs_and_cold_ones_one(self):
        warm, cold = [next(cell for cell in cells.all_cells([DATABASE])
                           if cell.cold == is_cold)
                      for is_cold in (False, True)]
        self.assertEqual(warm.words("")[5:], ["--epochs", "8"])
        self.assertEqual(cold.words("")[5:], ["--epochs", "1", "--cold",
                                              "--stock-limit", "3"])
        self.assertEqual({cell.epochs for cell in
                          cells.one_epoch_cells([DATABASE])}, {1})

    def test_a_wrong_checksum_ends_it(self):
        with self.assertRaisesRegex(cells.BenchError, "12k.*checksums differ"):
            self.compare([line()], [line(checksum=3)])

    def test_a_run_that_was_ended_has_its_own_checksum(self):
        self.compare([line(records=3, checksum=3)], [line()])

    def test_ours_is_compared_where_stock_was_ended(self):
        ended = line(records=3, checksum=3)
        with self.assertRaisesRegex(cells.BenchError, "checksums differ"):
            self.compare([ended], [line()], [line(checksum=9)], [ended],
                         rounds=2)

    def test_an_index_that_was_not_used_ends_it(self):
        with self.assertRaisesRegex(cells.BenchError, "is stale.*lmdb index"):
            cells.summed([line(), line(sidecar_refusal="x is stale")])


if __name__ == "__main__":
    unittest.main()
