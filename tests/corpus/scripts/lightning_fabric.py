# corpus: kind=frameworks needs=torch,lightning samples=48 loaders=2 trains=train_loader exit=0
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fabric = L.Fabric(accelerator="cpu", devices=1)
fabric.launch()
fabric.seed_everything(68)
model = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = fabric.setup(model, optimizer)
data = TensorDataset(torch.randn(24, 5), torch.randint(2, (24,)))
train_loader, val_loader = fabric.setup_dataloaders(
    DataLoader(data, batch_size=6, shuffle=True), DataLoader(data, batch_size=12)
)
for epoch in range(2):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        fabric.backward(loss)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        error = sum(nn.functional.cross_entropy(model(x), y).item() for x, y in val_loader)
    fabric.print(epoch, repr(loss.item()), repr(error))
