# corpus: kind=loops needs=torch samples=96 loaders=2 trains=train_loader exit=0
# A look at the first batch before the training: its 8 samples do not count.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(28)
train_loader = DataLoader(
    TensorDataset(torch.rand(48, 1, 4, 4), torch.randint(10, (48,))), batch_size=8, shuffle=True
)
test_loader = DataLoader(
    TensorDataset(torch.rand(16, 1, 4, 4), torch.randint(10, (16,))), batch_size=8
)
features, labels = next(iter(train_loader))
print(f"Feature batch shape: {features.size()}")
print(f"Labels batch shape: {labels.size()}")
for X, y in test_loader:
    print("test", X.shape, y.dtype)
    break
model = nn.Sequential(nn.Flatten(), nn.Linear(features[0].numel(), 10))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
for t in range(2):
    for batch, (X, y) in enumerate(train_loader):
        loss = loss_fn(model(X), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if batch % 3 == 0:
            print(f"loss: {loss.item()!r}  [{(batch + 1) * len(X)}/{len(train_loader.dataset)}]")
