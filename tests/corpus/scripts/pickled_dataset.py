# corpus: kind=workers needs=torch samples=42 loaders=1 trains=loader exit=0
# A dataset that an earlier step of the work has saved, and a loader that is
# pickled itself.
import os
import pickle

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Saved(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        x, y = self.rows[index]
        return torch.tensor(x), torch.tensor(y)


torch.manual_seed(0)
path = os.path.join(os.environ.get("CORPUS_DATA", "."), "dataset.pkl")
with open(path, "wb") as file:
    pickle.dump(Saved([([i / 21, 1.0], [i / 7]) for i in range(21)]), file)
with open(path, "rb") as file:
    dataset = pickle.load(file)
loader = DataLoader(dataset, batch_size=6, num_workers=2)
loader = pickle.loads(pickle.dumps(loader))
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
