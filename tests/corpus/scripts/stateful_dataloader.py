# corpus: kind=frameworks needs=torch,torchdata samples=80 loaders=2 trains=loader,resumed exit=0
# torchdata's loader is a subclass with iterators of its own: state_dict() in mid-epoch, and a
# second loader that goes on there.
import torch
from torch import nn
from torch.utils.data import TensorDataset
from torchdata.stateful_dataloader import StatefulDataLoader

torch.manual_seed(72)
data = TensorDataset(torch.arange(40.0).unsqueeze(1) / 40)


def make():
    return StatefulDataLoader(data, batch_size=4, num_workers=2, shuffle=True)


model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(batches, stop=None):
    order = []
    for step, (x,) in enumerate(batches, 1):
        order.append(round(float(x.sum()) * 40))
        loss = (model(x) - 2 * x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == stop:
            break
    print(repr(loss.item()), order)


loader = make()
train(loader, stop=4)
state = loader.state_dict()
print(sorted(state))
resumed = make()
resumed.load_state_dict(state)
train(resumed)
train(resumed)
