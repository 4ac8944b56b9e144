# corpus: kind=workers needs=torch samples=106 loaders=1 trains=loader exit=0
# Each worker reads every second line; the last batch of each is short.
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

PATH = os.path.join(os.environ.get("CORPUS_DATA", "."), "lines.csv")


class Lines(IterableDataset):
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        info = get_worker_info()
        shard, shards = (info.id, info.num_workers) if info else (0, 1)
        with open(self.path) as lines:
            for number, line in enumerate(lines):
                if number % shards == shard:
                    a, b, y = map(float, line.split(","))
                    yield torch.tensor([a, b]), torch.tensor([y])


with open(PATH, "w") as lines:
    for i in range(53):
        lines.write(f"{i / 53},{(i * 7 % 53) / 53},{i * 3 % 5}\n")
torch.manual_seed(3)
loader = DataLoader(Lines(PATH), batch_size=8, num_workers=2)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    sizes = []
    for x, y in loader:
        sizes.append(len(x))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()), sizes)
