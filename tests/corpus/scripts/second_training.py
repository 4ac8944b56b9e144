# corpus: kind=processes needs=torch samples=12,30 loaders=2 trains=loader exit=0
# Trains, and starts itself for a second training with the first one's weights.
import os
import subprocess
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

path = os.path.join(os.environ.get("CORPUS_DATA", "."), "weights.pt")
second = len(sys.argv) > 1
torch.manual_seed(62 + second)
count = 15 if second else 12
loader = DataLoader(TensorDataset(torch.randn(count, 2)), batch_size=5, shuffle=True)
model = nn.Linear(2, 1)
if second:
    model.load_state_dict(torch.load(path))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(1 + second):
    for (x,) in loader:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("second" if second else "first", epoch, repr(loss.item()), flush=True)
if not second:
    torch.save(model.state_dict(), path)
    done = subprocess.run([sys.executable, __file__, "second"])
    print("exit status", done.returncode)
