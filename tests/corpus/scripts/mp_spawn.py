# corpus: kind=processes needs=torch samples=24,24 loaders=2 trains=loader exit=0
# Hogwild: two processes train a shared model, here one after the other.
import torch
import torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train(rank, model, turn, done):
    turn[rank].wait()
    torch.manual_seed(rank)
    loader = DataLoader(
        TensorDataset(torch.randn(12, 2), torch.randn(12, 1)), batch_size=4, shuffle=True
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        print(rank, epoch, repr(loss.item()), flush=True)
    turn[rank + 1].set() if rank + 1 < len(turn) else done.set()


def main():
    torch.manual_seed(60)
    model = nn.Linear(2, 1)
    model.share_memory()
    context = mp.get_context("spawn")
    turn, done = [context.Event() for _ in range(2)], context.Event()
    turn[0].set()
    mp.spawn(train, args=(model, turn, done), nprocs=2)
    print(done.is_set(), repr(model.weight.sum().item()))


if __name__ == "__main__":
    main()
