# corpus: kind=wrappers needs=torch samples=48 loaders=2 trains=train_loader exit=0
# A copy of the training loader measures the training error.
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(39)
train_loader = DataLoader(
    TensorDataset(torch.randn(24, 3), torch.randn(24, 1)), batch_size=6, shuffle=True
)
eval_loader = copy.deepcopy(train_loader)
print(sorted(vars(train_loader)) == sorted(vars(eval_loader)), type(eval_loader).__name__)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in train_loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        errors = [nn.functional.mse_loss(model(x), y).item() for x, y in eval_loader]
    print(epoch, repr(sum(errors)))
