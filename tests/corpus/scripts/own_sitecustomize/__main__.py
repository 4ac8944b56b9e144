# corpus: kind=environment needs=torch samples=18 loaders=1 trains=loader exit=0 path=own_sitecustomize
import builtins
import importlib
import os
import subprocess
import sys

print(builtins.site_runs, os.environ["DATA_ROOT"])

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

site = importlib.import_module("sitecustomize")
print(site.__name__, os.path.basename(os.path.dirname(site.__file__)), builtins.site_runs)
torch.manual_seed(56)
loader = DataLoader(TensorDataset(torch.randn(18, 2)), batch_size=6, shuffle=True)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in loader:
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(repr(loss.item()), flush=True)
subprocess.run([sys.executable, "-c", "import builtins; print(builtins.site_runs)"], check=True)
