# corpus: kind=loops needs=torch samples=108 loaders=2 trains=easy,hard exit=0
# One loader after the other trains the same model.
import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset

torch.manual_seed(29)
simple = TensorDataset(torch.randn(24, 3), torch.zeros(24, 1))
difficult = TensorDataset(torch.randn(18, 3), torch.ones(18, 1))
easy = DataLoader(simple, batch_size=6, shuffle=True)
hard = DataLoader(ConcatDataset([simple, difficult]), batch_size=6, shuffle=True)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for name, loader, epochs in (("easy", easy, 1), ("hard", hard, 2)):
    for epoch in range(epochs):
        for x, y in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(name, epoch, repr(loss.item()))
