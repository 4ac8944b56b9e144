# corpus: kind=plain needs=torch samples=160 loaders=2 trains=train_loader exit=0
import os
import random
import shutil
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CHECKPOINTS = os.environ.get("CORPUS_DATA", ".")


class Pictures(Dataset):
    def __init__(self, count, flip):
        self.count, self.flip = count, flip

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        stream = torch.Generator().manual_seed(index)
        picture = torch.rand(3, 8, 8, generator=stream)
        if self.flip and random.random() < 0.5:
            picture = picture.flip(-1)
        return picture, index % 5


class AverageMeter:
    def __init__(self, name):
        self.name, self.sum, self.count = name, 0.0, 0

    def update(self, value, n):
        self.sum += value * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def run_epoch(loader, model, criterion, optimizer=None):
    losses, batch_time = AverageMeter("Loss"), AverageMeter("Time")
    model.train(optimizer is not None)
    end = time.time()
    with torch.set_grad_enabled(optimizer is not None):
        for images, target in loader:
            loss = criterion(model(images), target)
            losses.update(loss.item(), images.size(0))
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            batch_time.update(time.time() - end, 1)
            end = time.time()
    return losses.avg


def main():
    random.seed(7)
    torch.manual_seed(7)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)
    )
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    train_loader = DataLoader(Pictures(80, True), 20, shuffle=True, num_workers=2)
    val_loader = DataLoader(Pictures(30, False), 15, num_workers=2)
    best = float("inf")
    for epoch in range(2):
        for group in optimizer.param_groups:
            group["lr"] = 0.1 * 0.1 ** (epoch // 1)
        train_loss = run_epoch(train_loader, model, criterion, optimizer)
        val_loss = run_epoch(val_loader, model, criterion)
        print(epoch, repr(train_loss), repr(val_loss))
        path = os.path.join(CHECKPOINTS, "checkpoint.pth.tar")
        torch.save({"epoch": epoch, "state_dict": model.state_dict()}, path)
        if val_loss < best:
            best = val_loss
            shutil.copyfile(path, os.path.join(CHECKPOINTS, "model_best.pth.tar"))


if __name__ == "__main__":
    main()
