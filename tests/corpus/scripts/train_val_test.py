# corpus: kind=loops needs=torch samples=192 loaders=3 trains=train_loader exit=0
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(5)
data = TensorDataset(torch.randn(128, 4), torch.randint(3, (128,)))
train_loader = DataLoader(Subset(data, range(64)), batch_size=16, shuffle=True)
valid_loader = DataLoader(Subset(data, range(64, 96)), batch_size=32)
test_loader = DataLoader(Subset(data, range(96, 128)), batch_size=8)
model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


@torch.no_grad()
def evaluate(loader):
    model.eval()
    total = sum(criterion(model(x), y).item() * len(x) for x, y in loader)
    return total / len(loader.dataset)


for epoch in range(3):
    model.train()
    train_loss = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    print(f"{epoch} train {train_loss!r} valid {evaluate(valid_loader)!r}")
print("test", repr(evaluate(test_loader)))
