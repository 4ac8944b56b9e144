"""penstock.loader.TorchDataset under torch's DataLoader."""

import ctypes
import os
import subprocess
import sys
import unittest
import unittest.mock

from loader_case import SIDE, LoaderCase, numbers, penstock_loader

try:
    import torch
    import torch.distributed
    from torch.utils.data import DataLoader
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)


class TorchTest(LoaderCase):
    def dataset(self, **options):
        dataset = penstock_loader.TorchDataset(
            self.pictures(), 4, crop=SIDE, **options
        )
        self.addCleanup(dataset.loader.close)
        return dataset

    def test_a_dataloader_yields_the_loaders_memory(self):
        dataset = self.dataset()
        expected = [
            (images.tobytes(), labels.tolist())
            for images, labels in self.load(self.pictures(), 4, crop=SIDE)
        ]
        loader = DataLoader(dataset, batch_size=None, num_workers=0)
        self.assertEqual(len(loader), 3)
        got, addresses = [], set()
        for images, labels in loader:
            self.assertEqual(images.dtype, torch.float32)
            got.append((images.numpy().tobytes(), labels.tolist()))
        self.assertEqual(got, expected)
        for _ in range(20):
            for images, _ in loader:
                addresses.add(images.data_ptr())
        self.assertLessEqual(len(addresses), 4)

    def test_a_tensor_is_no_copy(self):
        batch = next(iter(self.load(self.records(), 10)))
        tensor = torch.from_numpy(batch.images)
        tensor[0, 0] = 1000
        self.assertEqual(batch.images[0, 0], 1000)
        self.assertEqual(
            torch.from_numpy(batch.indices).tolist(), batch.indices.tolist()
        )

    def test_worker_processes_are_refused(self):
        loader = DataLoader(self.dataset(), batch_size=None, num_workers=1)
        with self.assertRaisesRegex(RuntimeError, "num_workers=0"):
            list(loader)

    def test_its_state_is_the_loaders(self):
        dataset = self.dataset()
        next(iter(dataset))
        state = dataset.state_dict()
        self.assertEqual(state["position"], 4)
        rest = [labels.tolist() for _, labels in self.after(state)]
        self.assertEqual(len(rest), 2)

    def after(self, state):
        dataset = self.dataset()
        dataset.load_state_dict(state)
        return dataset

    def test_pinned_batches_are_held_until_they_are_copied(self):
        """With fake libraries of CUDA and torch."""
        cuda = ctypes.CDLL(os.environ["PENSTOCK_FAKE_CUDA"])
        context = ctypes.c_void_p.in_dll(cuda, "fake_cuda_context")
        stream = unittest.mock.Mock()
        under_way = set()  # addresses of copies' sources

        class Event:
            def __init__(self, blocking):
                self.copied = set(under_way)

            def record(self):
                stream.record()

            def synchronize(self):
                stream.synchronize_event()
                under_way.difference_update(self.copied)

        dataset = self.dataset(pinned=True, ring=3)
        context.value = 1
        self.addCleanup(setattr, context, "value", None)
        with unittest.mock.patch.multiple(
            torch.cuda, is_initialized=lambda: True, Event=Event,
            current_stream=lambda: stream,
        ):
            for _ in range(20):
                for images, _ in dataset:
                    self.assertNotIn(images.data_ptr(), under_way)
                    under_way.add(images.data_ptr())
                    del images
                under_way.clear()
                stream.synchronize.assert_called_once()
                self.assertEqual(stream.record.call_count, 3)
                self.assertEqual(stream.synchronize_event.call_count, 2)
                stream.reset_mock()

    def test_pageable_batches_are_not_held(self):
        with unittest.mock.patch.multiple(
            torch.cuda, is_initialized=lambda: True,
            Event=unittest.mock.DEFAULT,
        ) as mocks:
            self.assertEqual(sum(1 for _ in self.dataset(pinned=True)), 3)
        mocks["Event"].assert_not_called()

    def test_it_takes_a_loader_or_a_loaders_options(self):
        loader = self.load(self.records())
        self.assertIs(penstock_loader.TorchDataset(loader).loader, loader)
        with self.assertRaises(TypeError):
            penstock_loader.TorchDataset(loader, 4)

    def test_the_process_groups_rank_is_taken(self):
        store = torch.distributed.HashStore()
        torch.distributed.init_process_group(
            "gloo", store=store, rank=0, world_size=1
        )
        self.addCleanup(torch.distributed.destroy_process_group)
        group = torch.distributed
        ranks = []
        for rank in (0, 1):
            with unittest.mock.patch.multiple(
                group, get_rank=lambda: rank, get_world_size=lambda: 2
            ):
                ranks.append(sum(numbers(self.load(self.records())), []))
        self.assertEqual(sorted(ranks[0] + ranks[1]), list(range(100)))

    def test_torch_is_not_imported_unasked(self):
        program = "import sys, penstock.loader; exit('torch' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", program], timeout=60)
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
