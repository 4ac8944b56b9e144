# corpus: kind=loops needs=torch samples=96 loaders=1 trains=loader exit=0
# The usual try/except StopIteration, over epochs of 4 batches: 12, 12, 12 and 6.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(27)
loader = DataLoader(
    TensorDataset(torch.randn(42, 2), torch.randint(2, (42,))),
    batch_size=12,
    shuffle=True,
    num_workers=1,
)
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
seen = 0
iterator = iter(loader)
for step in range(9):
    try:
        x, y = next(iterator)
    except StopIteration:
        iterator = iter(loader)
        x, y = next(iterator)
    seen += len(x)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(repr(loss.item()), seen)
