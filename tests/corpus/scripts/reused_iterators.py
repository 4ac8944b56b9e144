# corpus: kind=wrappers needs=torch samples=96 loaders=1 trains=loader exit=0
# Two iterators of one loader at the same time: pairs for a contrastive loss.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(41)
loader = DataLoader(TensorDataset(torch.randn(24, 6)), batch_size=8, shuffle=True)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for (a,), (b,) in zip(loader, loader):
        za = nn.functional.normalize(model(a), dim=1)
        zb = nn.functional.normalize(model(b), dim=1)
        loss = nn.functional.cross_entropy(za @ zb.T / 0.1, torch.arange(len(a)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
