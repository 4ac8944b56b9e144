import argparse

import torch
from torch import nn

from .data import make_loaders


def main(arguments):
    parser = argparse.ArgumentParser(prog="digits")
    parser.add_argument("--epochs", type=int, default=1)
    options = parser.parse_args(arguments)
    torch.manual_seed(57)
    train, valid = make_loaders(batch_size=5)
    model = nn.Linear(9, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(options.epochs):
        for x, y in train:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            error = sum(nn.functional.cross_entropy(model(x), y).item() for x, y in valid)
        print(epoch, repr(loss.item()), repr(error))
    return 0
