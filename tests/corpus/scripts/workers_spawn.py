# corpus: kind=workers needs=torch samples=48 loaders=1 trains=loader exit=0
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        x = torch.tensor([index / self.count]) + 0.01 * torch.rand(1)
        return x, x * x


def main():
    torch.manual_seed(6)
    loader = DataLoader(
        Squares(24),
        batch_size=6,
        shuffle=True,
        num_workers=2,
        multiprocessing_context="spawn",
        persistent_workers=True,
    )
    model = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        print(epoch, repr(loss.item()))


if __name__ == "__main__":
    main()
