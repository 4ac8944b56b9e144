# corpus: kind=workers needs=torch samples=60 loaders=1 trains=loader exit=0
# The order comes from the loader's own generator; the global one stays as it is.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

generator = torch.Generator().manual_seed(123)
loader = DataLoader(
    TensorDataset(torch.arange(30.0).unsqueeze(1)), batch_size=5, shuffle=True, generator=generator
)
torch.manual_seed(1)
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for epoch in range(2):
    order = []
    for (x,) in loader:
        order += x.flatten().int().tolist()
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()), order)
print(torch.get_rng_state().sum().item(), generator.get_state().sum().item())
