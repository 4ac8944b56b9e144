"""Cells: values in which the runs of a cell must agree."""

import pathlib
import unittest

from bench.lmdb import cells, databases

# Warm cells read it into the page cache: any file is suitable.
DATABASE = databases.Database("12k", pathlib.Path(__file__), 32)
CELL = cells.Cell(DATABASE, 2, False, False)


def line(**changed):
    return {"seconds": 2, "requests": 4, "read_bytes": 800, "bytes": 600,
            "cpu_s": 0.5, "records": 10, "checksum": 2 ** 64 - 1,
            "sidecar_refusal": "", **changed}


class Played:
    """A program whose consecutive runs print these lines."""

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

    def test_the_lines_of_all_ranks_add_up_to_a_run(self):
        run = cells.summed([line(seconds=1), line()])
        self.assertEqual(run, cells.Run(1200, 600, 1.0, 20, 800, 200,
                                        2 ** 64 - 2))

    def test_the_order_of_stock_and_ours_alternates(self):
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

    def test_different_checksums_are_an_error(self):
        with self.assertRaisesRegex(cells.BenchError, "12k.*checksums differ"):
            self.compare([line()], [line(checksum=3)])

    def test_the_checksum_of_an_incomplete_stock_run_is_not_compared(self):
        self.compare([line(records=3, checksum=3)], [line()])

    def test_our_runs_are_compared_even_if_stock_is_incomplete(self):
        ended = line(records=3, checksum=3)
        with self.assertRaisesRegex(cells.BenchError, "checksums differ"):
            self.compare([ended], [line()], [line(checksum=9)], [ended],
                         rounds=2)

    def test_an_unused_index_is_an_error(self):
        with self.assertRaisesRegex(cells.BenchError, "is stale.*lmdb index"):
            cells.summed([line(), line(sidecar_refusal="x is stale")])


if __name__ == "__main__":
    unittest.main()
