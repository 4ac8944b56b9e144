# corpus: kind=models needs=torch samples=48 loaders=1 trains=loader exit=0
# An optimizer class of the script's own, and a wrapper that looks ahead.
import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader, TensorDataset


class SignSGD(Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.add_(p.grad.sign(), alpha=-group["lr"])


class Lookahead:
    def __init__(self, base, k):
        self.base, self.k, self.steps = base, k, 0
        self.slow = [p.detach().clone() for g in base.param_groups for p in g["params"]]

    def step(self):
        self.base.step()
        self.steps += 1
        if self.steps % self.k == 0:
            fast = [p for g in self.base.param_groups for p in g["params"]]
            for slow, p in zip(self.slow, fast):
                slow += 0.5 * (p.detach() - slow)
                p.data.copy_(slow)


torch.manual_seed(33)
loader = DataLoader(
    TensorDataset(torch.randn(24, 3), torch.randn(24, 1)), batch_size=4, shuffle=True
)
model = nn.Linear(3, 1)
optimizer = Lookahead(SignSGD(model.parameters(), lr=0.02), k=3)
for epoch in range(2):
    for x, y in loader:
        model.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
