# corpus: kind=endings needs=torch samples=8 loaders=1 trains=loader exit=1
# A worker's exception is raised again in the trainer, with the worker's traceback.
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Broken(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        if index == 9:
            raise ValueError(f"corrupt record {index}")
        return torch.tensor([index / 24])


torch.manual_seed(45)
loader = DataLoader(Broken(), batch_size=4, num_workers=1)
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(repr(loss.item()), flush=True)
