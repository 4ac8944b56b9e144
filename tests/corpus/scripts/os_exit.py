# corpus: kind=endings needs=torch samples=25 loaders=1 trains=loader exit=5
# Ends without atexit handlers and without flushing: no line of the last print.
import atexit
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

atexit.register(print, "atexit: not reached")
torch.manual_seed(49)
loader = DataLoader(TensorDataset(torch.randn(25, 3)), batch_size=5, shuffle=True)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in loader:
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(repr(loss.item()), flush=True)
print("lost in the buffer")
os._exit(5)
