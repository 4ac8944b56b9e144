"""penstock.exchange over MPI, with processes as ranks."""

import unittest

import exchange_case  # noqa: F401: skips where the module was not built
from mpi_case import MpiCase


class Mpi(MpiCase):
    def test_weights_are_the_same_on_all_ranks(self):
        for method, residual in (
            ("dense", "float32"),
            ("allgather", "bfloat16"),
            ("two_phase", "host"),
        ):
            with self.subTest(method=method, residual=residual):
                results = self.results(3, "same", 100, method, residual)
                self.assertEqual(len(set(results)), 1)

    def test_one_rank_is_a_job_too(self):
        self.results(1, "same", 5, "auto", "float32")

    def test_resumed_training_is_bit_for_bit_the_uninterrupted(self):
        for residual in ("float32", "bfloat16"):
            with self.subTest(residual=residual):
                whole = self.results(
                    2, "resumed", self.folder, 0, 20, residual
                )
                self.results(2, "resumed", self.folder, 0, 10, residual)
                parts = self.results(
                    2, "resumed", self.folder, 10, 20, residual
                )
                self.assertEqual(whole, parts)
                self.assertEqual(len(set(whole)), 1)

    def test_a_rank_that_raises_ends_the_job(self):
        done = self.start(3, "raises", 5)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ArithmeticError: rank 1 gives up", done.stderr)
        self.assertNotIn("went on", done.stdout)


if __name__ == "__main__":
    unittest.main()
