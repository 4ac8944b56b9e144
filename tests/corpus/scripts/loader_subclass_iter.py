# corpus: kind=wrappers needs=torch samples=64 loaders=1 trains=loader exit=0
# A subclass that moves batches to a device, and cannot be hashed.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DeviceDataLoader(DataLoader):
    device = torch.device("cpu")

    def __eq__(self, other):
        return isinstance(other, DeviceDataLoader) and self.dataset is other.dataset

    def __iter__(self):
        for batch in super().__iter__():
            yield [tensor.to(self.device).double() for tensor in batch]


torch.manual_seed(36)
loader = DeviceDataLoader(
    TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8, shuffle=True
)
model = nn.Linear(4, 1).double()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()), type(loader).__name__, DeviceDataLoader.__hash__)
