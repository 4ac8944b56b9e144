# corpus: kind=batches needs=torch samples=20 loaders=1 trains=loader exit=0
# batch_size=None without batches: each item is a tensor of dimension 0.
import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return torch.tensor(index / 10)


torch.manual_seed(20)
loader = DataLoader(Numbers(), batch_size=None, shuffle=True)
center = torch.nn.Parameter(torch.tensor(0.0))
optimizer = torch.optim.SGD([center], lr=0.1)
for epoch in range(2):
    for item in loader:
        assert item.dim() == 0
        loss = (center - item).abs()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()), repr(center.item()))
