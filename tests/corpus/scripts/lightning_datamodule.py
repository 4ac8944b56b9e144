# corpus: kind=frameworks needs=torch,lightning samples=60 loaders=3 trains=train_dataloader() exit=0
# A DataModule, two optimizers by hand, a test, and new loaders in each epoch.
import os

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Data(L.LightningDataModule):
    def setup(self, stage):
        stream = torch.Generator().manual_seed(0)
        self.rows = TensorDataset(torch.randn(40, 3, generator=stream))

    def train_dataloader(self):
        return DataLoader(self.rows, batch_size=10, shuffle=True, num_workers=1)

    def val_dataloader(self):
        return DataLoader(self.rows, batch_size=20)

    def test_dataloader(self):
        return DataLoader(self.rows, batch_size=40)


class Pair(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def training_step(self, batch, batch_idx):
        (x,) = batch
        for layer, optimizer in zip((self.a, self.b), self.optimizers()):
            optimizer.zero_grad()
            loss = (layer(x) - x).square().mean()
            self.manual_backward(loss)
            optimizer.step()
        print("train", batch_idx, repr(loss.item()))

    def validation_step(self, batch, batch_idx):
        self.log("val", (self.a(batch[0]) - batch[0]).abs().mean())

    def test_step(self, batch, batch_idx):
        print("test", repr((self.b(batch[0]) - batch[0]).abs().mean().item()))

    def configure_optimizers(self):
        return [torch.optim.Adam(layer.parameters(), lr=0.05) for layer in (self.a, self.b)]


L.seed_everything(67)
trainer = L.Trainer(
    max_epochs=2,
    limit_train_batches=3,
    reload_dataloaders_every_n_epochs=1,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    default_root_dir=os.environ.get("CORPUS_DATA", "."),
)
data, model = Data(), Pair()
trainer.fit(model, datamodule=data)
trainer.test(model, datamodule=data, verbose=False)
