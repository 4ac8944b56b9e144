# corpus: kind=wrappers needs=torch samples=96 loaders=1 trains=loader exit=0
# A background thread reads the loader ahead of the training.
import queue
import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class BackgroundGenerator(threading.Thread):
    def __init__(self, iterable, ahead=2):
        super().__init__(daemon=True)
        self.queue, self.iterable = queue.Queue(ahead), iterable
        self.start()

    def run(self):
        for item in self.iterable:
            self.queue.put(item)
        self.queue.put(None)

    def __iter__(self):
        return iter(self.queue.get, None)


torch.manual_seed(35)
generator = torch.Generator().manual_seed(35)  # the thread must not use the global one
loader = DataLoader(
    TensorDataset(torch.randn(48, 5), torch.randn(48, 1)),
    batch_size=8,
    shuffle=True,
    generator=generator,
)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    total = 0.0
    for x, y in BackgroundGenerator(loader):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, repr(total))
