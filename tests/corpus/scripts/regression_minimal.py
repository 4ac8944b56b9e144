# corpus: kind=plain needs=torch samples=180 loaders=1 trains=loader exit=0
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.linspace(-1, 1, 60).unsqueeze(1)
y = 3 * x + 0.1 * torch.randn_like(x)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
weight = torch.zeros(1, requires_grad=True)
bias = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([weight, bias], lr=0.2)
for epoch in range(3):
    for xb, yb in loader:
        loss = ((weight * xb + bias - yb) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
print(repr(weight.item()), repr(bias.item()))
