"""The trained networks, for pictures of 14 x 14 pixels."""

from torch import nn


def mlp():
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(196, 32),
        nn.ReLU(),
        nn.Linear(32, 32),
        nn.ReLU(),
        nn.Linear(32, 10),
    )


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 16, 32),
        nn.ReLU(),
        nn.Linear(32, 10),
    )


MODELS = {"mlp": mlp, "cnn": cnn}
