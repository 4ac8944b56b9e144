# corpus: kind=sampling needs=torch samples=66 loaders=1 trains=loader exit=0
# The dataset reads whole batches: its index is the list that the BatchSampler gives.
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler


class Table(Dataset):
    def __init__(self):
        self.x = torch.randn(33, 5)
        self.y = self.x.prod(1, keepdim=True)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, indices):
        return self.x[indices], self.y[indices]


torch.manual_seed(10)
table = Table()
sampler = BatchSampler(RandomSampler(table), batch_size=8, drop_last=False)
loader = DataLoader(table, sampler=sampler, batch_size=None, num_workers=1)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    sizes = []
    for x, y in loader:
        sizes.append(x.shape[0])
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()), sizes)
