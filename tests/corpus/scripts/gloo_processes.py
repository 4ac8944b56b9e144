# corpus: kind=processes needs=torch samples=40,40 loaders=2 trains=loader exit=0
# Two ranks that multiprocessing starts, with DistributedSampler and DDP.
import multiprocessing
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def train(rank, size):
    torch.manual_seed(59)
    dataset = TensorDataset(torch.randn(39, 3), torch.randn(39, 1))
    sampler = DistributedSampler(dataset, size, rank, shuffle=True)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        if rank == 0:
            print(epoch, repr(total.item()), flush=True)
    dist.barrier()


def run_rank(rank, size, store):
    if rank > 0:  # gloo writes lines to stdout, too
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    # The model must go first. Where its reducer is the group's last owner, torch
    # 1.13 joins gloo's threads with the GIL held, for which they may wait.
    train(rank, size)
    dist.destroy_process_group()


if __name__ == "__main__":
    store = os.path.join(os.environ.get("CORPUS_DATA", "."), "store")
    ranks = [multiprocessing.Process(target=run_rank, args=(rank, 2, store)) for rank in range(2)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    print([process.exitcode for process in ranks])
