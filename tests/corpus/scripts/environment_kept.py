# corpus: kind=environment needs=torch samples=16 loaders=1 trains=loader exit=0
# Prints what a hook must leave as it is.
import gc
import inspect
import os
import pickle
import random
import signal
import sys
import threading
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

print(
    sys.argv, sys.flags, sys.warnoptions, sys.path[0] == os.path.dirname(os.path.abspath(__file__))
)
print(__name__, __file__, __package__, __spec__, sorted(globals()))
print(
    sys.excepthook is sys.__excepthook__,
    sys.displayhook is sys.__displayhook__,
    sys.stdout is sys.__stdout__,
)
print(
    sys.gettrace(),
    sys.getprofile(),
    sys.getrecursionlimit(),
    sys.getswitchinterval(),
    gc.get_threshold(),
)
print(
    [thread.name for thread in threading.enumerate()],
    threading.excepthook.__name__,
    os.getcwd() == sys.path[0],
)
print(
    [
        str(signal.getsignal(number))
        for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1, signal.SIGALRM)
    ]
)
print(len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")))
print([(action, category.__name__, line) for action, _, category, _, line in warnings.filters])
print(sorted(name for name in os.environ if not name.startswith(("PYTHONPATH", "PENSTOCK"))))
random.seed(1)
torch.manual_seed(54)
print(random.random(), torch.rand(1).item(), torch.is_grad_enabled(), torch.get_num_threads())
print(inspect.signature(DataLoader.__init__))
print(
    DataLoader.__mro__[:-1],
    DataLoader.__module__,
    DataLoader.__iter__.__qualname__,
    DataLoader.__iter__.__module__,
)
print(
    inspect.signature(DataLoader.__iter__),
    DataLoader.__doc__ is not None,
    sorted(vars(DataLoader)),
)
loader = DataLoader(TensorDataset(torch.randn(16, 2)), batch_size=4, shuffle=True)
before = sorted(vars(loader))
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
iterator = iter(loader)
print(type(iterator).__name__, type(loader), len(loader))
for (x,) in iterator:
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(repr(loss.item()), sorted(vars(loader)) == before, len(pickle.dumps(DataLoader(range(8)))))
print(
    sorted(optimizer.state_dict()),
    sorted(vars(optimizer)),
    optimizer.step.__name__,
    sys.exc_info(),
)
