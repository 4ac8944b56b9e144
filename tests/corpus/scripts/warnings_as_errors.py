# corpus: kind=endings needs=torch samples=32 loaders=1 trains=loader exit=0 run="-W error {script}"
# A warning of anything in the process ends it.
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(51)
loader = DataLoader(
    TensorDataset(torch.randn(16, 2), torch.randn(16, 1)), batch_size=4, shuffle=True
)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
try:
    warnings.warn("the last epoch", RuntimeWarning)
except RuntimeWarning as warning:
    print("raised:", warning)
