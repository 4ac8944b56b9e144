# corpus: kind=wrappers needs=torch samples=40 loaders=1 trains=loader exit=0
# An object around the loader that passes attributes on, as prefetchers do.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DataPrefetcher:
    """Draws one batch ahead."""

    def __init__(self, loader):
        self.loader = loader

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        iterator = iter(self.loader)
        ahead = next(iterator, None)
        while ahead is not None:
            batch, ahead = ahead, next(iterator, None)
            yield batch


torch.manual_seed(38)
loader = DataPrefetcher(
    DataLoader(TensorDataset(torch.randn(20, 3), torch.randn(20, 1)), batch_size=4, shuffle=True)
)
model = nn.Linear(3, 1)
optimizer = torch.optim.ASGD(model.parameters(), lr=0.05)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.huber_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()), loader.batch_size, len(loader.dataset))
