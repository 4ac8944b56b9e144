# corpus: kind=sampling needs=torch samples=200 loaders=1 trains=train_loader exit=0
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(12)
labels = torch.cat([torch.zeros(54), torch.ones(6)]).long()
features = torch.randn(60, 4) + labels.unsqueeze(1)
weights = 1.0 / torch.bincount(labels).float()[labels]
sampler = WeightedRandomSampler(weights, num_samples=100, replacement=True)
train_loader = DataLoader(TensorDataset(features, labels), batch_size=32, sampler=sampler)
model = nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(2):
    rare = 0
    for x, y in train_loader:
        rare += int(y.sum())
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()), "of the rare class:", rare)
