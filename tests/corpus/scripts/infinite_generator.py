# corpus: kind=loops needs=torch samples=110 loaders=1 trains=loader exit=0
# Steps, no epochs; 22 steps of 5 samples over epochs of 6 batches.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def infinite(loader):
    while True:
        yield from loader


torch.manual_seed(26)
loader = DataLoader(TensorDataset(torch.randn(30, 4)), batch_size=5, shuffle=True)
batches = infinite(loader)
model = nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
ema = 0.0
for iteration in range(22):
    (clean,) = next(batches)
    noisy = clean + 0.3 * torch.randn_like(clean)
    loss = nn.functional.mse_loss(model(noisy), clean)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    ema = 0.9 * ema + 0.1 * loss.item()
    if iteration % 7 == 0:
        print(iteration, repr(loss.item()), repr(ema))
