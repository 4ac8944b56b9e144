# corpus: kind=processes needs=torch,torch.compiler samples=32,32 loaders=4 trains=loader exit=0 run="-m torch.distributed.run --standalone --nnodes=1 --nproc_per_node=2 {script}" differs=stderr
# torch.compiler came with 2.1: the launcher of 1.13 fails with Python 3.11. It writes other lines
# to stderr in each run: process ids, warnings of sockets.
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
if rank > 0:  # gloo writes lines to stdout, too
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
dist.init_process_group("gloo")
torch.manual_seed(61)
dataset = TensorDataset(torch.randn(32, 3), torch.randn(32, 1))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=4, sampler=sampler, num_workers=1)
valid = DataLoader(dataset, batch_size=16)
model = nn.parallel.DistributedDataParallel(nn.Linear(3, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        error = sum(nn.functional.mse_loss(model.module(x), y).item() for x, y in valid)
    if rank == 0:
        print(epoch, size, repr(error), flush=True)
dist.destroy_process_group()
