"""penstock.exchange.ddp_hook, in DDP's training over gloo."""

import unittest

from exchange_case import torch
from mpi_case import MpiCase


class Ddp(MpiCase):
    def test_dense_is_what_ddp_does(self):
        self.results(2, "ddp", self.folder, "none", "dense", 1)
        results = self.results(2, "ddp", self.folder, "penstock", "dense", 1)
        self.assertEqual(len(set(results)), 1)
        expected, got = (
            torch.load(f"{self.folder}/{hook}-0.pt")
            for hook in ("none", "penstock")
        )
        for name, tensor in expected.items():
            self.assertLess((got[name] - tensor).abs().max().item(), 2e-5)

    def test_weights_are_the_same_on_all_ranks(self):
        for method in ("allgather", "two_phase"):
            with self.subTest(method=method):
                results = self.results(
                    3, "ddp", self.folder, "penstock", method, 0.05
                )
                self.assertEqual(len(set(results)), 1)
        
    def test_resumed_training_is_bit_for_bit_the_uninterrupted(self):
        whole = self.results(2, "ddp_resumed", self.folder, 0, 20)
        self.results(2, "ddp_resumed", self.folder, 0, 10)
        parts = self.results(2, "ddp_resumed", self.folder, 10, 20)
        self.assertEqual(whole, parts)

    def test_unused_parameters_are_refused(self):
        for result in self.results(2, "ddp_refused", self.folder, "unused"):
            self.assertIn("find_unused_parameters=True", result)

    def test_other_ranks_than_ddps_are_refused(self):
        for result in self.results(2, "ddp_refused", self.folder, "alone"):
            self.assertIn("DDP has 2 ranks, the exchange 1", result)


if __name__ == "__main__":
    unittest.main()
