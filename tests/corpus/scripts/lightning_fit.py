# corpus: kind=frameworks needs=torch,lightning samples=64 loaders=2 trains=train_loader exit=0
# fit() with its sanity check and validation, then validate().
import os

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regression(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.losses = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.layer(x), y)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", nn.functional.mse_loss(self.layer(x), y))

    def on_train_epoch_end(self):
        print(self.current_epoch, repr(sum(self.losses)))
        self.losses.clear()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


L.seed_everything(66)
train_loader = DataLoader(
    TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8, shuffle=True
)
val_loader = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), batch_size=8)
trainer = L.Trainer(
    max_epochs=2,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    num_sanity_val_steps=2,
    default_root_dir=os.environ.get("CORPUS_DATA", "."),
)
model = Regression()
trainer.fit(model, train_loader, val_loader)
result = trainer.validate(model, val_loader, verbose=False)
print(repr(result[0]["val_loss"]), trainer.global_step)
