# corpus: kind=loops needs=torch samples=128 loaders=2 trains=loader exit=0
# Two runs in one process; the second begins with the first one's checkpoint.
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PATH = os.path.join(os.environ.get("CORPUS_DATA", "."), "last.pt")


def run(epochs):
    torch.manual_seed(0)
    loader = DataLoader(
        TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8, shuffle=True
    )
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    start = 0
    if os.path.exists(PATH):
        state = torch.load(PATH)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])
        start = state["epoch"] + 1
        print("resumed at", start)
    for epoch in range(start, epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
        print(epoch, repr(loss.item()))
        torch.save(
            {
                "epoch": epoch,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "rng": torch.get_rng_state(),
            },
            PATH,
        )


run(2)
run(4)
