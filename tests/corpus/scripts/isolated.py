# corpus: kind=environment needs=torch samples=- loaders=1 trains=- exit=0 run="-I {script}"
# -I ignores PYTHONPATH: the training is not seen, and is the same.
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(53)
loader = DataLoader(TensorDataset(torch.randn(12, 2)), batch_size=3, shuffle=True)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in loader:
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(repr(loss.item()), sys.flags.isolated, sys.path)
