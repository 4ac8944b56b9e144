# corpus: kind=endings needs=torch samples=56 loaders=1 trains=loader exit=0
# A broken sample fails its batch in the loader; the script goes on with the next.
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SometimesBroken(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        if index == 13:
            raise OSError(f"sample {index}: image file is truncated")
        return torch.full((2,), index / 32), torch.tensor([float(index)])


torch.manual_seed(43)
loader = DataLoader(SometimesBroken(), batch_size=4)
model = nn.Linear(2, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for epoch in range(2):
    batches, failed = iter(loader), 0
    while True:
        try:
            x, y = next(batches)
        except StopIteration:
            break
        except OSError as error:
            failed += 1
            print("skipped:", error)
            continue
        loss = nn.functional.l1_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()), failed)
