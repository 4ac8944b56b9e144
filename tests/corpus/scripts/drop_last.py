# corpus: kind=sampling needs=torch samples=128 loaders=1 trains=loader exit=0
# 70 samples in batches of 16: 64 an epoch.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(14)
loader = DataLoader(
    TensorDataset(torch.randn(70, 1, 6, 6)), batch_size=16, shuffle=True, drop_last=True
)
encoder = nn.Sequential(nn.Flatten(), nn.Linear(36, 4), nn.BatchNorm1d(4))
decoder = nn.Linear(4, 36)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
for epoch in range(2):
    for (image,) in loader:
        loss = (decoder(encoder(image)) - image.flatten(1)).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
