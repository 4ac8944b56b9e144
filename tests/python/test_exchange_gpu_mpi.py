"""penstock.exchange of models on emulated GPUs, with MPI processes as ranks."""

import unittest

from exchange_case import torch
from mpi_case import MpiCase


class EmulatedMpi(MpiCase):
    def test_weights_are_the_same_on_all_ranks(self):
        results = self.results(3, "emulated", "same", 20, "two_phase", "float32")
        self.assertEqual(len(set(results)), 1)

    def test_ddp_gets_means(self):
        self.results(2, "ddp", self.folder, "none", "dense", 1)
        self.results(
            2, "emulated", "ddp", self.folder, "penstock", "dense", 1
        )
        expected, got = (
            torch.load(f"{self.folder}/{hook}-0.pt")
            for hook in ("none", "penstock")
        )
        for name, tensor in expected.items():
            self.assertLess((got[name] - tensor).abs().max().item(), 2e-5)

    def test_ddp_has_the_same_weights_on_all_ranks(self):
        results = self.results(
            2, "emulated", "ddp", self.folder, "penstock", "two_phase", 0.05
        )
        self.assertEqual(len(set(results)), 1)


if __name__ == "__main__":
    unittest.main()
