# corpus: kind=endings needs=torch samples=16 loaders=1 trains=loader exit=-2
# As by Ctrl-C: saves a checkpoint, and ends by SIGINT.
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(47)
loader = DataLoader(TensorDataset(torch.randn(40, 3)), batch_size=8, shuffle=True)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    for step, (x,) in enumerate(loader):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, repr(loss.item()))
        if step == 1:
            raise KeyboardInterrupt
except KeyboardInterrupt:
    torch.save(
        model.state_dict(), os.path.join(os.environ.get("CORPUS_DATA", "."), "interrupted.pt")
    )
    print("saved")
    raise
