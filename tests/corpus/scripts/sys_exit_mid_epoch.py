# corpus: kind=endings needs=torch samples=30 loaders=1 trains=loader exit=7
# Ends in the middle of an epoch, with workers that have batches ready.
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(46)
loader = DataLoader(TensorDataset(torch.randn(60, 3)), batch_size=6, shuffle=True, num_workers=2)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    for step, (x,) in enumerate(loader, 1):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, repr(loss.item()))
        if step == 5:
            sys.exit(7)
finally:
    print("finally")
