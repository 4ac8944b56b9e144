# corpus: kind=sampling needs=torch samples=63 loaders=1 trains=loader exit=0
# A sampler that repeats hard samples: it gives 21 indices of 18 samples.
import torch
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset


class RepeatHard(Sampler):
    def __init__(self, size, hard):
        self.size, self.hard, self.epoch = size, hard, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        stream = torch.Generator().manual_seed(self.epoch)
        indices = [*range(self.size), *self.hard]
        for at in torch.randperm(len(indices), generator=stream).tolist():
            yield indices[at]

    def __len__(self):
        return self.size + len(self.hard)


torch.manual_seed(0)
sampler = RepeatHard(18, hard=[2, 3, 5])
loader = DataLoader(
    TensorDataset(torch.randn(18, 4), torch.randint(2, (18,))), batch_size=7, sampler=sampler
)
model = nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
