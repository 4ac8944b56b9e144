# corpus: kind=endings needs=torch samples=16 loaders=1 trains=loader exit=0
# A scheduler's SIGUSR1: the handler asks the loop to end after this batch.
import os
import signal

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

stop = False


def ask_to_stop(signum, frame):
    global stop
    stop = True
    print("signal", signal.Signals(signum).name)


signal.signal(signal.SIGUSR1, ask_to_stop)
torch.manual_seed(48)
loader = DataLoader(TensorDataset(torch.randn(40, 3)), batch_size=8, shuffle=True, num_workers=1)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step, (x,) in enumerate(loader):
    if step == 1:
        os.kill(os.getpid(), signal.SIGUSR1)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, repr(loss.item()))
    if stop:
        break
print("handlers", signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT).__name__)
