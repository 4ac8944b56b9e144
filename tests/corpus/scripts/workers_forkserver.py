# corpus: kind=workers needs=torch samples=40 loaders=1 trains=loader exit=0
# The start method is the whole program's, and new workers start in each epoch.
import torch
import torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Tones(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return torch.sin(torch.arange(8) * (index + 1) / 3.0), index % 4


if __name__ == "__main__":
    mp.set_start_method("forkserver")
    torch.manual_seed(16)
    loader = DataLoader(Tones(), batch_size=5, shuffle=True, num_workers=1)
    model = nn.Sequential(
        nn.Unflatten(1, (1, 8)), nn.Conv1d(1, 2, 3), nn.Flatten(), nn.Linear(12, 4)
    )
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.01)
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        print(epoch, repr(loss.item()))
