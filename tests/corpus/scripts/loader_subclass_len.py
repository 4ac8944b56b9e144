# corpus: kind=wrappers needs=torch samples=70 loaders=1 trains=loader exit=0
# The widespread InfiniteDataLoader: its iterator is made once, its workers stay,
# and its length is that of one epoch.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class RepeatSampler:
    def __init__(self, sampler):
        self.sampler = sampler

    def __len__(self):
        return len(self.sampler)

    def __iter__(self):
        while True:
            yield from iter(self.sampler)


class InfiniteDataLoader(DataLoader):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        object.__setattr__(self, "batch_sampler", RepeatSampler(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self):
        return len(self.batch_sampler.sampler)

    def __iter__(self):
        for _ in range(len(self)):
            yield next(self.iterator)


torch.manual_seed(37)
loader = InfiniteDataLoader(
    TensorDataset(torch.randn(35, 4), torch.randn(35, 2)),
    batch_size=8,
    shuffle=True,
    num_workers=2,
)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()), len(loader))
