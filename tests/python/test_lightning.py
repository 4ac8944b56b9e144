"""penstock.LightningCallback, called in the way of Lightning 2. If Lightning
is installed, also by its own trainer."""

import importlib
import os
import tempfile
import time
import unittest
from unittest import mock

import penstock
from fake_daemon import FakeDaemon, socket_folder
from penstock import _run_delay

TRAINING_HOOKS = (
    "setup on_fit_start on_sanity_check_start on_sanity_check_end "
    "on_train_start on_train_epoch_start on_before_zero_grad "
    "on_before_optimizer_step on_train_epoch_end on_train_end on_fit_end "
    "teardown on_exception on_save_checkpoint on_load_checkpoint"
).split()


def lightnings():
    for name in ("lightning.pytorch", "pytorch_lightning"):
        try:
            yield importlib.import_module(name)
        except ImportError:
            pass


class Trainer:
    """The parts of Lightning's trainer that the callback uses."""

    sanity_checking = False

    def __init__(self, loader, callback):
        self.train_dataloader = loader
        self.callback = callback

    def call(self, hook, *arguments):
        getattr(self.callback, hook)(self, None, *arguments)

    def fit(self, epochs=1, between=lambda: None):
        self.sanity_checking = True
        self.call("on_validation_end")
        self.sanity_checking = False
        self.call("on_train_start")
        for _ in range(epochs):
            self.call("on_train_epoch_start")
            for index, batch in enumerate(self.train_dataloader):
                self.call("on_train_batch_start", batch, index)
                time.sleep(0.01)
                self.call("on_train_batch_end", {"loss": 1.0}, batch, index)
            between()
            self.call("on_validation_start")
            time.sleep(0.2)
            self.call("on_validation_end")
        self.call("on_train_end")


class Slow:
    def __iter__(self):
        for _ in range(5):
            time.sleep(0.02)
            yield [0] * 4


class LightningTest(unittest.TestCase):
    def setUp(self):
        folder = socket_folder()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "penstockd.sock")
        self.daemon = FakeDaemon(path)
        self.addCleanup(self.daemon.close)
        client = penstock.Client(path)
        self.addCleanup(client.close)
        patch = mock.patch("penstock._lightning.default_client", lambda: client)
        patch.start()
        self.addCleanup(patch.stop)
        self.client = client

    def check_progress(self, samples, steps):
        page = self.daemon.progress()
        self.assertEqual((page["samples"], page["steps"]), (samples, steps))
        self.assertGreaterEqual(page["wait_ns"], steps * 20_000_000)
        # Neither the steps nor the validations are waits.
        self.assertLess(page["wait_ns"], steps * 25_000_000 + 50_000_000)

    def test_waits_between_batches_are_measured(self):
        Trainer(Slow(), penstock.LightningCallback()).fit(epochs=2)
        self.check_progress(40, 10)

    def test_a_watched_loader_is_counted_once(self):
        watched = penstock.Watched(Slow(), self.client)
        trainer = Trainer(watched, penstock.LightningCallback())
        for epoch, shown in enumerate([watched, [watched], {"a": watched}], 1):
            trainer.train_dataloader = shown
            trainer.call("on_train_start")
            for index, batch in enumerate(watched):
                trainer.call("on_train_batch_start", batch, index)
                trainer.call("on_train_batch_end", None, batch, index)
            self.assertEqual(self.daemon.progress()["steps"], 5 * epoch)

    def test_every_hook_is_there(self):
        callback = penstock.LightningCallback()
        for hook in TRAINING_HOOKS:
            self.assertTrue(callable(getattr(callback, hook)), hook)
        self.assertEqual(callback.state_dict(), {})
        self.assertEqual(callback.state_key, "LightningCallback")
        callback.load_state_dict({})
        with self.assertRaises(AttributeError):
            callback.nothing

    def test_an_exception_ends_the_wait(self):
        callback = penstock.LightningCallback()
        trainer = Trainer([], callback)
        trainer.call("on_train_batch_start", [1], 0)
        trainer.call("on_train_batch_end", None, [1], 0)
        self.assertEqual(_run_delay._of_thread.waits.depth, 1)
        trainer.call("on_exception", ValueError())
        self.assertEqual(_run_delay._of_thread.waits.depth, 0)

    def test_lightnings_own_trainer(self):
        found = list(lightnings())
        if not found:
            self.skipTest("SKIPPED: Lightning is not installed")
        for lightning in found:
            with self.subTest(lightning.__name__):
                before = self.daemon.progress()["steps"]
                fit(lightning)
                self.assertEqual(self.daemon.progress()["steps"] - before, 10)


def fit(lightning):
    """Two epochs of five batches, with the callback as one of Lightning's."""
    import torch

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, index):
            return self.layer(batch[0]).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-5)

    class Mine(penstock.LightningCallback, lightning.Callback):
        pass

    data = torch.utils.data.TensorDataset(torch.zeros(20, 1))
    with tempfile.TemporaryDirectory() as folder:
        lightning.Trainer(
            callbacks=[Mine()], max_epochs=2, accelerator="cpu", logger=False,
            default_root_dir=folder, enable_progress_bar=False,
            enable_model_summary=False,
        ).fit(Model(), torch.utils.data.DataLoader(data, 4))


if __name__ == "__main__":
    unittest.main()
