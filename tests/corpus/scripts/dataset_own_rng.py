# corpus: kind=workers needs=torch,numpy samples=96 loaders=1 trains=loader exit=0
# The dataset counts its calls and has a random stream of its own: both go on in
# each worker from where they were at the epoch's start.
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Stateful(Dataset):
    def __init__(self):
        self.random = np.random.default_rng(99)
        self.calls = 0

    def __len__(self):
        return 32

    def __getitem__(self, index):
        self.calls += 1
        return np.float32([index, self.calls, self.random.standard_normal()])


torch.manual_seed(0)
loader = DataLoader(Stateful(), batch_size=4, num_workers=2, shuffle=True)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
for epoch in range(3):
    calls = 0
    for batch in loader:
        calls += int(batch[:, 1].sum())
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()), calls)
