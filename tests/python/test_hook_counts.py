"""What the hook counts of unmodified training programs."""

import unittest

from hook_case import TRAINING, HookCase

try:
    import torch
except ImportError:
    torch = None

MS = 1_000_000

EPOCH = """
train(DataLoader(data(24), 4), torch.optim.SGD(model.parameters(), 1e-4))
"""


@unittest.skipUnless(torch, "python3-torch is not installed")
class CountsTest(HookCase):
    def train(self, text, samples, steps):
        script = self.file("train.py", TRAINING + text)
        self.assertEqual(self.outputs(script), ("", "", 0))
        self.check(samples, steps)

    def test_training_with_accumulated_gradients_and_validation(self):
        self.train("""
loaders = [DataLoader(data(n), 4, num_workers=1) for n in (40, 12)]
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
list(loaders[1])
for epoch in range(2):
    train(loaders[0], optimizer, every=4)
    list(loaders[1])
""", 80, 20)

    def test_two_loaders_at_once(self):
        self.train("""
optimizer = torch.optim.SGD(model.parameters(), 1e-4)
for _, batch in zip(DataLoader(data(12), 2), DataLoader(data(60), 10)):
    train([batch], optimizer)
""", 60, 6)

    def test_the_hook_says_that_the_program_does_not_use_penstock(self):
        self.daemon.unasked.clear()
        self.train(EPOCH, 24, 6)
        self.assertEqual(self.daemon.unasked, [1])

    def test_a_site_that_refuses_the_hook(self):
        self.daemon.refuses_unasked = True
        self.train(EPOCH, 0, 0)

    def test_a_site_that_refuses_the_hook_serves_programs_that_use_penstock(
        self,
    ):
        self.daemon.refuses_unasked = True
        self.train("""
import penstock
for batch in penstock.watch(DataLoader(data(24), 4)):
    pass
""", 24, 6)

    def test_no_optimizer(self):
        self.train("""
list(DataLoader(data(8), 4))
list(DataLoader(data(80), 4))
""", 80, 20)

    def test_an_optimizer_without_steps(self):
        self.train("""
torch.optim.SGD(model.parameters(), 1e-4)
list(DataLoader(data(80), 4))
""", 0, 0)

    def test_workers_that_are_spawned(self):
        self.train("""
if __name__ == "__main__":
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    loader = DataLoader(data(24), 4, num_workers=2,
                        multiprocessing_context="spawn")
    train(loader, optimizer)
""", 24, 6)

    def test_spawned_workers_need_no_hook(self):
        self.train("""
if __name__ == "__main__":
    import os
    del os.environ["PYTHONPATH"]
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    for method in ("spawn", "forkserver"):
        loader = DataLoader(data(24), 4, num_workers=1,
                            multiprocessing_context=method)
        train(loader, optimizer)
""", 48, 12)

    def test_a_trainer_that_loads_its_data_itself(self):
        """Computing is preparation, and waiting for a store is not."""
        self.train("""
import time

class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        time.sleep(0.01)
        end_s = time.thread_time() + 0.02
        while time.thread_time() < end_s:
            pass
        return torch.zeros(1), 0

train(DataLoader(Pictures(), 2), torch.optim.SGD(model.parameters(), 1e-4))
""", 10, 5)
        page = self.daemon.progress()
        self.assertEqual(page["prepared"], 10)
        self.assertEqual(page["loader_threads"], 0)
        self.assertGreaterEqual(page["prep_ns"], 190 * MS)
        self.assertLess(page["prep_ns"], 300 * MS)
        self.assertGreaterEqual(page["fetch_ns"], 95 * MS)
        self.assertLessEqual(page["prep_ns"] + page["fetch_ns"],
                             page["wait_ns"])

    @unittest.skipUnless(hasattr(torch, "compile"), "torch.compile: torch 2")
    def test_a_compiled_model_and_optimizer(self):
        self.train("""
optimizer = torch.optim.Adam(model.parameters(), 1e-4)
compiled = torch.compile(model, backend="eager")
for batch, in DataLoader(data(24), 4):
    compiled(batch).sum().backward()
    optimizer.step()
""", 24, 6)


if __name__ == "__main__":
    unittest.main()
