# corpus: kind=models needs=torch samples=- loaders=1 trains=- exit=0
# Gradient descent without an optimizer: no step that could be seen.
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(34)
loader = DataLoader(
    TensorDataset(torch.randn(20, 3), torch.randn(20, 1)), batch_size=5, shuffle=True
)
weights = torch.zeros(3, 1, requires_grad=True)
for epoch in range(2):
    for x, y in loader:
        loss = ((x @ weights - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            weights -= 0.1 * weights.grad
            weights.grad.zero_()
    print(epoch, repr(loss.item()))
