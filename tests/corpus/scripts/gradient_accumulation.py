# corpus: kind=loops needs=torch samples=176 loaders=1 trains=train_loader exit=0
# 11 batches an epoch and a step for every 4: the last step takes 3.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
accumulation_steps = 4
train_loader = DataLoader(
    TensorDataset(torch.randn(88, 10), torch.randn(88, 1)), batch_size=8, shuffle=True
)
model = nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    total, steps = 0.0, 0
    for i, (inputs, targets) in enumerate(train_loader):
        loss = nn.functional.mse_loss(model(inputs), targets) / accumulation_steps
        loss.backward()
        total += loss.item()
        if (i + 1) % accumulation_steps == 0 or i + 1 == len(train_loader):
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
    print(epoch, repr(total), "steps", steps)
