# corpus: kind=workers needs=torch samples=216 loaders=1 trains=train_loader exit=0
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Noisy(Dataset):
    """Samples with noise of the worker's own random stream."""

    def __len__(self):
        return 72

    def __getitem__(self, index):
        assert get_worker_info().num_workers == 4
        x = torch.full((4,), index / 72) + 0.1 * torch.randn(4)
        return x, torch.tensor([index / 72])


if __name__ == "__main__":
    torch.manual_seed(17)
    train_loader = DataLoader(
        Noisy(),
        batch_size=12,
        shuffle=True,
        num_workers=4,
        persistent_workers=True,
        prefetch_factor=3,
    )
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(epoch, repr(total))
