import torch
from torch.utils.data import DataLoader, TensorDataset


def make_loaders(batch_size):
    pictures, labels = torch.rand(30, 9), torch.randint(4, (30,))
    train = TensorDataset(pictures[:20], labels[:20])
    valid = TensorDataset(pictures[20:], labels[20:])
    return DataLoader(train, batch_size, shuffle=True, num_workers=1), DataLoader(
        valid, batch_size
    )
