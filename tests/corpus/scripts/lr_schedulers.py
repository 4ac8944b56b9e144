# corpus: kind=models needs=torch samples=144 loaders=2 trains=train_loader exit=0
import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR, ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
train_loader = DataLoader(
    TensorDataset(torch.randn(48, 3), torch.randn(48, 2)), batch_size=12, shuffle=True
)
val_loader = DataLoader(TensorDataset(torch.randn(12, 3), torch.randn(12, 2)), batch_size=12)
model = nn.Linear(3, 2)
epochs = 3
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
cycle = OneCycleLR(optimizer, max_lr=0.2, steps_per_epoch=len(train_loader), epochs=epochs)
plateau = ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
for epoch in range(epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.smooth_l1_loss(model(x), y)
        loss.backward()
        optimizer.step()
        cycle.step()
    with torch.no_grad():
        val = sum(nn.functional.smooth_l1_loss(model(x), y).item() for x, y in val_loader)
    plateau.step(val)
    print(epoch, repr(loss.item()), repr(val), repr(optimizer.param_groups[0]["lr"]))
