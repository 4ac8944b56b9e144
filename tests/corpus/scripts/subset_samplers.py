# corpus: kind=sampling needs=torch,numpy samples=96 loaders=2 trains=train_loader exit=0
# Training and validation read the same dataset object by two samplers.
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

np.random.seed(42)
torch.manual_seed(42)
dataset = TensorDataset(torch.randn(60, 6), torch.randint(3, (60,)))
indices = np.random.permutation(len(dataset))
split = int(0.2 * len(dataset))
train_loader = DataLoader(
    dataset, batch_size=16, sampler=SubsetRandomSampler(indices[split:].tolist())
)
valid_loader = DataLoader(
    dataset, batch_size=16, sampler=SubsetRandomSampler(indices[:split].tolist())
)
model = nn.Linear(6, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
valid_loss_min = np.inf
for epoch in range(2):
    train_loss, valid_loss = 0.0, 0.0
    for data, target in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * data.size(0)
    for data, target in valid_loader:
        valid_loss += criterion(model(data), target).item() * data.size(0)
    print(epoch, repr(train_loss / 48), repr(valid_loss / 12))
    if valid_loss <= valid_loss_min:
        valid_loss_min = valid_loss
        print("validation loss decreased")
