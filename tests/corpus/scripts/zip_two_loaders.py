# corpus: kind=loops needs=torch samples=128 loaders=2 trains=unlabelled exit=0
# Semi-supervised: each step takes a batch of both loaders. The samples of the one
# that comes last count.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)
labelled = DataLoader(
    TensorDataset(torch.randn(32, 5), torch.randint(2, (32,))), batch_size=8, shuffle=True
)
unlabelled = DataLoader(TensorDataset(torch.randn(64, 5)), batch_size=16, shuffle=True)
model = nn.Linear(5, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for (x, y), (u,) in zip(labelled, unlabelled):
        supervised = nn.functional.cross_entropy(model(x), y)
        with torch.no_grad():
            guess = model(u).softmax(1).argmax(1)
        loss = supervised + 0.1 * nn.functional.cross_entropy(
            model(u + 0.1 * torch.randn_like(u)), guess
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
