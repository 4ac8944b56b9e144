# corpus: kind=processes needs=torch samples=15 loaders=1 trains=loader exit=0
# Restarts itself in the same process, as a script that sets a variable does.
import os
import sys

if "STARTED" not in os.environ:
    os.environ["STARTED"] = "1"
    print("restarting", flush=True)
    os.execv(sys.executable, [sys.executable, *sys.argv])

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(65)
loader = DataLoader(TensorDataset(torch.randn(15, 2)), batch_size=5, shuffle=True)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in loader:
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(repr(loss.item()))
