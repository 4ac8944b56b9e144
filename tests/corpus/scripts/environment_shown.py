# corpus: kind=environment needs=torch samples=12 loaders=1 trains=loader exit=0 differs=stdout
# Prints what a hook may change: the variable that brings it, and its own modules.
import os
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

print(os.environ.get("PYTHONPATH"))
print(sys.path)
print(len(sys.meta_path), sys.path_hooks)
print(sorted(sys.modules))
print(getattr(sys.modules.get("sitecustomize"), "__file__", None))
torch.manual_seed(55)
loader = DataLoader(TensorDataset(torch.randn(12, 2)), batch_size=4, shuffle=True)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in loader:
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(repr(loss.item()))
