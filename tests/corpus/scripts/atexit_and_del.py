# corpus: kind=endings needs=torch samples=20 loaders=1 trains=loader exit=0
# What is printed at the end, in which order: handlers, finalizers and destructors.
import atexit
import weakref

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Closing(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return torch.tensor([float(index)])

    def __del__(self):
        print("dataset closed")


def last():
    print("atexit: registered first, runs last")


atexit.register(last)
torch.manual_seed(50)
dataset = Closing()
loader = DataLoader(dataset, batch_size=5)
weakref.finalize(loader, print, "loader finalized")
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for epoch in range(2):
    for x in loader:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
del loader
print("loader deleted")
del dataset
print("dataset deleted")
atexit.register(print, "atexit: registered last, runs first")
