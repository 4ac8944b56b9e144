"""penstock.watch() with frameworks that test for a DataLoader, or derive from
it: accelerate, Lightning and torchdata, where they are installed."""

import importlib.util
import tempfile
import unittest

from fake_daemon import socket_folder
from penstock import LightningCallback, watch
from test_watch_torch import run_ranks
from watch_case import DaemonTestCase

PREPARED = """
import json, os, sys, torch, penstock
from accelerate import Accelerator
from penstock import _client
torch.distributed.init_process_group(
    "gloo", init_method="file://" + sys.argv[1],
    rank=int(os.environ["RANK"]), world_size=2)
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="1")  # not used
accelerator = Accelerator(cpu=True)
data = torch.utils.data.TensorDataset(torch.arange(16.).reshape(16, 1))
loader = penstock.watch(torch.utils.data.DataLoader(data, 4))
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), 1e-4)
loader, model, optimizer = accelerator.prepare(loader, model, optimizer)
seen = []
for batch, in loader:
    accelerator.backward(model(batch).sum())
    optimizer.step()
    seen += batch.flatten().tolist()
counters = _client.default_client()._counters
print(json.dumps([seen, counters[_client._SAMPLES]]))
"""


def is_missing(name):
    return importlib.util.find_spec(name) is None


class FrameworksTest(DaemonTestCase):
    def setUp(self):
        super().setUp()
        self.daemon, _ = self.connect()

    @unittest.skipIf(is_missing("accelerate"), "accelerate is not installed")
    def test_each_rank_of_accelerate_gets_its_half(self):
        folder = socket_folder()
        self.addCleanup(folder.cleanup)
        outputs = run_ranks(PREPARED, folder.name, self.path)
        (one, samples_1), (two, samples_2) = outputs
        self.assertEqual((len(one), samples_1), (8, 8))
        self.assertEqual((len(two), samples_2), (8, 8))
        self.assertEqual(sorted(one + two), list(range(16)))

    @unittest.skipIf(is_missing("torchdata"), "torchdata is not installed")
    def test_a_stateful_loader_goes_on_where_it_stopped(self):
        from torchdata.stateful_dataloader import StatefulDataLoader

        for workers in (0, 1):
            before = self.daemon.progress() if workers else {"samples": 0}
            loader = watch(
                StatefulDataLoader(range(24), 4, num_workers=workers))
            iterator = iter(loader)
            next(iterator)
            self.assertEqual(iterator.state_dict(), loader.state_dict())
            rest = watch(
                StatefulDataLoader(range(24), 4, num_workers=workers))
            rest.load_state_dict(loader.state_dict())
            self.assertEqual(len(list(rest)), 5)
            after = self.daemon.progress()
            self.assertEqual(after["samples"] - before["samples"], 24)

    @unittest.skipIf(is_missing("lightning"), "Lightning is not installed")
    def test_lightning_counts_training_batches_once(self):
        import lightning
        import torch

        class Model(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(1, 1)

            def training_step(self, batch, index):
                return self.layer(batch[0]).sum()

            def validation_step(self, batch, index):
                pass

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), 1e-5)

        class Report(LightningCallback, lightning.Callback):
            pass

        def loader(size):
            data = torch.utils.data.TensorDataset(torch.zeros(size, 1))
            return torch.utils.data.DataLoader(data, 4)

        with tempfile.TemporaryDirectory() as folder:
            lightning.Trainer(
                callbacks=[Report()], max_epochs=2, accelerator="cpu",
                logger=False, default_root_dir=folder,
                enable_progress_bar=False, enable_model_summary=False,
                accumulate_grad_batches=2,
            ).fit(Model(), watch(loader(20)), loader(12))
        page = self.daemon.progress()
        self.assertEqual((page["samples"], page["steps"]), (40, 10))


if __name__ == "__main__":
    unittest.main()
