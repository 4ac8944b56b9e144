"""penstock.loader.CachedDataset under torch's DataLoader."""

import os
import pickle
import sys
import unittest

from cache_case import CacheCase, Counted
from loader_case import penstock_loader

try:
    import torch
    from torch.utils.data import DataLoader
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)


class Tensors(Counted):
    """Views of one tensor."""

    def __init__(self, path, count=10):
        super().__init__(path, count)
        self.all = torch.arange(count * 2000).reshape(count, 20, 100)

    def __getitem__(self, index):
        super().__getitem__(index)
        return self.all[index], index


class WorkersTest(CacheCase):
    def check_workers(self, start, **options):
        counted = Tensors(os.path.join(self.folder, "calls"))
        dataset = penstock_loader.CachedDataset(counted, self.cache())
        loader = DataLoader(
            dataset, batch_size=3, shuffle=True, num_workers=2,
            multiprocessing_context=start, **options
        )
        for calls in (10, 0, 0):
            seen = []
            for tensors, labels in loader:
                self.assertTrue((tensors == counted.all[labels]).all())
                seen += labels.tolist()
            self.assertEqual(sorted(seen), list(range(10)))
            self.assertEqual(counted.take_calls(), calls)
        self.assertEqual(len(dataset.cache), 10)

    def test_forked_ones_read_nothing_in_the_second_epoch(self):
        self.check_workers("fork")

    def test_nor_do_spawned_ones(self):
        self.check_workers("spawn", persistent_workers=True)

    def test_workers_of_two_jobs_share_it(self):
        counted = Tensors(os.path.join(self.folder, "calls"))
        datasets = [
            penstock_loader.CachedDataset(counted, self.cache())
            for _ in range(2)
        ]
        for dataset, calls in zip(datasets, (10, 0)):
            self.assertEqual(
                len(list(DataLoader(dataset, num_workers=2))), 10
            )
            self.assertEqual(counted.take_calls(), calls)


class TensorTest(CacheCase):
    def back(self, item):
        dataset = penstock_loader.CachedDataset(
            [item] * 10, self.cache(size=1 << 24)
        )
        dataset[0]
        self.assertIn(0, dataset.cache)
        return dataset[0], len(dataset.cache.get(0))

    def test_a_view_takes_its_own_bytes(self):
        whole = torch.arange(1 << 20, dtype=torch.float32).reshape(1024, 1024)
        for view in (whole[5], whole[:20, :20], whole[:, 3], whole[:8, :8].T):
            back, size = self.back(view)
            self.assertTrue(torch.equal(back, view))
            self.assertLess(size, 4 * view.numel() + 1000)

    def test_tensors_come_back_as_they_were(self):
        for tensor in (
            torch.tensor(3),
            torch.zeros(0, 3),
            torch.zeros(2, 3, dtype=torch.bfloat16),
            torch.zeros(2, 3, 4).permute(2, 0, 1),
            torch.ones(3, requires_grad=True),
            torch.eye(3).to_sparse(),
            torch.nn.Parameter(torch.ones(2)),
            torch.tensor([True, False]),
        ):
            with self.subTest(tensor=tensor):
                back, _ = self.back(tensor)
                self.assertIs(type(back), type(tensor))
                self.assertEqual(back.dtype, tensor.dtype)
                self.assertEqual(back.requires_grad, tensor.requires_grad)
                self.assertEqual(back.layout, tensor.layout)
                if tensor.layout == torch.strided:
                    self.assertEqual(back.stride(), tensor.stride())
                dense, expected = back.to_dense(), tensor.to_dense()
                self.assertTrue(torch.equal(dense, expected))

    def test_they_may_be_changed(self):
        back, _ = self.back({"image": torch.zeros(3)})
        back["image"] += 1
        self.assertEqual(back["image"].tolist(), [1, 1, 1])
        self.assertEqual(pickle.loads(pickle.dumps(back)).keys(), back.keys())


if __name__ == "__main__":
    unittest.main()
