"""Trains a small classifier of pictures by Accelerate, in the style of its own
examples. Usage: accelerate_images.py FOLDER"""

import sys

import accelerate
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

EPOCHS = 8
TRAIN = transforms.Compose([transforms.RandomResizedCrop(224),
                            transforms.RandomHorizontalFlip(),
                            transforms.ToTensor()])
CHECK = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224),
                            transforms.ToTensor()])


def make_model():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 7, stride=4), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(),
        torch.nn.Linear(128, 2))


def main():
    folder = sys.argv[1]
    accelerator = accelerate.Accelerator(cpu=True)
    accelerate.utils.set_seed(1)
    train = DataLoader(datasets.ImageFolder(f"{folder}/train", TRAIN),
                       batch_size=16, shuffle=True, num_workers=2)
    check = DataLoader(datasets.ImageFolder(f"{folder}/val", CHECK),
                       batch_size=16, num_workers=2)
    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model, optimizer, train, check = accelerator.prepare(
        model, optimizer, train, check)
    for epoch in range(EPOCHS):
        model.train()
        for pictures, labels in train:
            loss = torch.nn.functional.cross_entropy(model(pictures), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        right = 0
        with torch.no_grad():
            for pictures, labels in check:
                found = model(pictures).argmax(1)
                found, labels = accelerator.gather_for_metrics((found, labels))
                right += int((found == labels).sum())
        accelerator.print(f"epoch {epoch}: {right} right")


if __name__ == "__main__":
    main()
