# corpus: kind=models needs=torch samples=60 loaders=1 trains=loader exit=0
# One step evaluates its closure several times on the same batch.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(31)
x = torch.linspace(0, 6, 30).unsqueeze(1)
loader = DataLoader(TensorDataset(x, torch.sin(x)), batch_size=15, shuffle=True)
model = nn.Sequential(nn.Linear(1, 6), nn.Tanh(), nn.Linear(6, 1))
optimizer = torch.optim.LBFGS(
    model.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe"
)
for epoch in range(2):
    for inputs, target in loader:
        calls = 0

        def closure():
            global calls
            calls += 1
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), target)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        print(epoch, repr(float(loss)), calls > 1)
