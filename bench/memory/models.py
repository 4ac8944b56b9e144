"""A convolutional network, a transformer, and their training data."""

import torch
from torch import nn

WIDTHS = (16, 32, 64)  # of ResNet-56, pre-activation (He et al., 2016)
BLOCKS = 9             # in each of its stages
SIDE = 32
CLASSES = 10

DIMENSION, HEADS, DEPTH, WORDS, VOCABULARY = 192, 4, 16, 128, 256


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        stride = 1 if inputs == outputs else 2
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.shortcut = nn.Identity() if stride == 1 else nn.Conv2d(
            inputs, outputs, 1, stride, bias=False)

    def forward(self, images):
        inner = self.conv1(torch.relu(self.norm1(images)))
        inner = self.conv2(torch.relu(self.norm2(inner)))
        return self.shortcut(images) + inner


def conv():
    blocks = []
    inputs = WIDTHS[0]
    for width in WIDTHS:
        for _ in range(BLOCKS):
            blocks.append(ResidualBlock(inputs, width))
            inputs = width
    head = [nn.BatchNorm2d(inputs), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(inputs, CLASSES)]
    return nn.Sequential(nn.Conv2d(3, WIDTHS[0], 3, 1, 1, bias=False), *blocks,
                         *head)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.into = nn.Linear(DIMENSION, 3 * DIMENSION)
        self.out = nn.Linear(DIMENSION, DIMENSION)

    def forward(self, words):
        batch, length, _ = words.shape
        heads = self.into(words).view(batch, length, 3, HEADS, -1)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) * (DIMENSION // HEADS) ** -0.5
        mixed = torch.softmax(scores, -1) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))


class TransformerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(DIMENSION)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(DIMENSION)
        self.inner = nn.Sequential(nn.Linear(DIMENSION, 4 * DIMENSION),
                                   nn.GELU(),
                                   nn.Linear(4 * DIMENSION, DIMENSION))

    def forward(self, words):
        words = words + self.attention(self.norm1(words))
        return words + self.inner(self.norm2(words))


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, DIMENSION)
        self.places = nn.Parameter(torch.zeros(WORDS, DIMENSION))

    def forward(self, words):
        return self.words(words) + self.places


def transformer():
    return nn.Sequential(Embedding(),
                         *[TransformerBlock() for _ in range(DEPTH)],
                         nn.LayerNorm(DIMENSION),
                         nn.Linear(DIMENSION, VOCABULARY))


MODELS = {"conv": conv, "transformer": transformer}


def make_batch(kind, size):
    """Returns random inputs and targets."""
    if kind == "conv":
        return (torch.randn(size, 3, SIDE, SIDE),
                torch.randint(CLASSES, (size,)))
    return (torch.randint(VOCABULARY, (size, WORDS)),
            torch.randint(VOCABULARY, (size, WORDS)))


def loss(outputs, targets):
    return nn.functional.cross_entropy(outputs.flatten(0, -2),
                                       targets.flatten())
