# corpus: kind=models needs=torch samples=160 loaders=1 trains=loader exit=0
# The last pass, of update_bn(), is without a step: it is the training loader's.
import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)
loader = DataLoader(
    TensorDataset(torch.randn(40, 8), torch.randint(3, (40,))), batch_size=10, shuffle=True
)
model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
swa_model = AveragedModel(model)
swa_scheduler = SWALR(optimizer, swa_lr=0.05)
for epoch in range(3):
    for inputs, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), target)
        loss.backward()
        optimizer.step()
    if epoch >= 1:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    print(epoch, repr(loss.item()))
update_bn(loader, swa_model)
print(repr(swa_model(torch.ones(2, 8)).sum().item()))
