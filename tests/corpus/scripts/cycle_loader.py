# corpus: kind=loops needs=torch samples=24 loaders=1 trains=loader exit=0
# itertools.cycle keeps the first pass's batches: the loader gives only that one.
import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(24)
loader = DataLoader(
    TensorDataset(torch.randn(24, 3), torch.randn(24, 1)), batch_size=6, shuffle=True
)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step, (x, y) in enumerate(itertools.islice(itertools.cycle(loader), 14)):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 1:
        print(step, repr(loss.item()))
