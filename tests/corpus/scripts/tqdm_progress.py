# corpus: kind=wrappers needs=torch samples=96 loaders=1 trains=loader exit=0
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

try:
    from tqdm import tqdm
except ImportError:

    def tqdm(iterable, **_):
        return iterable


torch.manual_seed(3)
dataset = TensorDataset(torch.randn(48, 6), torch.randint(2, (48,)))
loader = DataLoader(dataset, batch_size=12, shuffle=True)
model = nn.Linear(6, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for epoch in range(2):
    running = 0.0
    for step, (x, y) in enumerate(tqdm(loader, desc=f"epoch {epoch}"), start=1):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        running += (loss.item() - running) / step
    print(epoch, repr(running))
