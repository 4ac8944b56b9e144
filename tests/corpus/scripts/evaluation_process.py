# corpus: kind=processes needs=torch samples=20 loaders=2 trains=loader exit=0
# A forked child evaluates beside the training, and reports by a queue.
import multiprocessing as mp

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def evaluate(weights, data, results):
    torch.set_num_threads(1)
    model = nn.Linear(2, 1)
    model.load_state_dict(weights)
    with torch.no_grad():
        results.put(sum(model(x).square().sum().item() for (x,) in DataLoader(data, batch_size=5)))


torch.manual_seed(64)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(10, 2))
loader = DataLoader(data, batch_size=5, shuffle=True)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
results = mp.SimpleQueue()
for epoch in range(2):
    for (x,) in loader:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    child = mp.Process(target=evaluate, args=(model.state_dict(), data, results))
    child.start()
    print(epoch, repr(loss.item()), repr(results.get()))
    child.join()
