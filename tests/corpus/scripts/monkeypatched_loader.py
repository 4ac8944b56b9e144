# corpus: kind=wrappers needs=torch samples=32 loaders=1 trains=loader exit=0
# The script replaces parts of DataLoader itself, and puts them back.
import torch
from torch import nn
from torch.utils import data

original_init, original_iter = data.DataLoader.__init__, data.DataLoader.__iter__
passes = []


def patched_init(self, *args, **kwargs):
    kwargs.setdefault("drop_last", True)
    original_init(self, *args, **kwargs)


def patched_iter(self):
    passes.append(len(self))
    return original_iter(self)


data.DataLoader.__init__ = patched_init
data.DataLoader.__iter__ = patched_iter
torch.manual_seed(40)
loader = data.DataLoader(data.TensorDataset(torch.randn(18, 3)), batch_size=4, shuffle=True)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    if epoch == 1:
        data.DataLoader.__init__, data.DataLoader.__iter__ = original_init, original_iter
    for (x,) in loader:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()), passes)
print(data.DataLoader.__iter__ is original_iter)
