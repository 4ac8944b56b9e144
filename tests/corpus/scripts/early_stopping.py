# corpus: kind=loops needs=torch samples=160 loaders=2 trains=train_loader exit=0
# The loss gets worse after the second epoch: patience ends it after the fifth.
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad, self.state = patience, None, 0, None

    def __call__(self, loss, model):
        if self.best is None or loss < self.best:
            self.best, self.bad = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


torch.manual_seed(2)
x = torch.randn(32, 6)
train_loader = DataLoader(TensorDataset(x, x @ torch.ones(6, 1)), batch_size=8, shuffle=True)
val_loader = DataLoader(TensorDataset(x, x @ torch.ones(6, 1)), batch_size=32)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
stopper = EarlyStopping(patience=3)
for epoch in range(50):
    if epoch == 2:
        optimizer.param_groups[0]["lr"] = 1.5  # diverges
    for inputs, target in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), target)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        val = sum(nn.functional.mse_loss(model(i), t).item() for i, t in val_loader)
    print(epoch, repr(val))
    if stopper(val, model):
        print("stopped; best", repr(stopper.best))
        break
