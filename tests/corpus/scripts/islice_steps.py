# corpus: kind=loops needs=torch samples=72 loaders=2 trains=train_loader exit=0
# An epoch has a fixed number of steps, fewer than the loader's batches.
from itertools import islice

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

steps_per_epoch = 3
torch.manual_seed(25)
train_loader = DataLoader(
    TensorDataset(torch.randn(80, 4), torch.randn(80, 1)), batch_size=8, shuffle=True
)
val_loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), batch_size=20)
model = nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(3):
    for x, y in islice(train_loader, steps_per_epoch):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        val = [nn.functional.mse_loss(model(x), y).item() for x, y in islice(val_loader, 1)]
    print(epoch, repr(loss.item()), val)
