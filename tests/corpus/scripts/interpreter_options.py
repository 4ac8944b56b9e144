# corpus: kind=environment needs=torch samples=24 loaders=1 trains=loader exit=0 run="-OO -s -u -X faulthandler {script}"
# Options of the interpreter: without asserts and docstrings, unbuffered.
import faulthandler
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def documented():
    """Not kept."""


assert False, "not checked"
print(documented.__doc__, sys.flags.optimize, sys.flags.no_user_site, faulthandler.is_enabled())
torch.manual_seed(52)
loader = DataLoader(TensorDataset(torch.randn(12, 2)), batch_size=3, shuffle=True, num_workers=1)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for (x,) in loader:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
