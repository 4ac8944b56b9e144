# corpus: kind=endings needs=torch samples=12 loaders=1 trains=loader exit=1
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Broken(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return torch.tensor([[1.0, 2.0]] * 15)[index]


torch.manual_seed(44)
loader = DataLoader(Broken(), batch_size=4)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(repr(loss.item()))
print("not reached")
