# corpus: kind=models needs=torch samples=64 loaders=2 trains=loader exit=0
# Several models with an optimizer each learn from one loader.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(32)
x = torch.randn(32, 4)
loader = DataLoader(TensorDataset(x, x.norm(dim=1, keepdim=True)), batch_size=8, shuffle=True)
test = DataLoader(TensorDataset(x[:8], x[:8].norm(dim=1, keepdim=True)), batch_size=4)
models = [
    nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1)) for width in (2, 4, 8)
]
optimizers = [torch.optim.Adam(model.parameters(), lr=0.02) for model in models]
for epoch in range(2):
    losses = [0.0] * len(models)
    for inputs, target in loader:
        for i, (model, optimizer) in enumerate(zip(models, optimizers)):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), target)
            loss.backward()
            optimizer.step()
            losses[i] += loss.item()
    print(epoch, losses)
with torch.no_grad():
    for inputs, target in test:
        mean = torch.stack([model(inputs) for model in models]).mean(0)
        print(repr(nn.functional.mse_loss(mean, target).item()))
