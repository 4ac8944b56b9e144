"""Trains a small classifier of pictures by Lightning, in the style of its own
examples. Usage: lightning_images.py FOLDER"""

import sys

import lightning
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

EPOCHS = 8
TRAIN = transforms.Compose([transforms.RandomResizedCrop(224),
                            transforms.RandomHorizontalFlip(),
                            transforms.ToTensor()])
CHECK = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224),
                            transforms.ToTensor()])


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 7, stride=4), torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(),
            torch.nn.Linear(128, 2))

    def loss(self, batch):
        pictures, labels = batch
        return torch.nn.functional.cross_entropy(self.layers(pictures), labels)

    def training_step(self, batch, _):
        loss = self.loss(batch)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        self.log("checked", self.loss(batch))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    lightning.seed_everything(1)
    folder = sys.argv[1]
    train = DataLoader(datasets.ImageFolder(f"{folder}/train", TRAIN),
                       batch_size=16, shuffle=True, num_workers=2)
    check = DataLoader(datasets.ImageFolder(f"{folder}/val", CHECK),
                       batch_size=16, num_workers=2)
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=EPOCHS, logger=False,
        enable_checkpointing=False, enable_progress_bar=False)
    trainer.fit(Classifier(), train, check)


if __name__ == "__main__":
    main()
