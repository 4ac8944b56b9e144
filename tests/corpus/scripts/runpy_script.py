# corpus: kind=processes needs=torch samples=20 loaders=1 trains=loader exit=0
# A launcher in the same process, as debuggers and profilers are.
import os
import runpy
import sys

SCRIPT = """
import sys
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(58)
loader = DataLoader(TensorDataset(torch.randn(10, 2)), batch_size=4, shuffle=True)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(int(sys.argv[1])):
    for (x,) in loader:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(__name__, epoch, repr(loss.item()))
final = loss.item()
"""

path = os.path.join(os.environ.get("CORPUS_DATA", "."), "train.py")
with open(path, "w") as file:
    file.write(SCRIPT)
sys.argv = [path, "2"]
result = runpy.run_path(path, run_name="__main__")
print(repr(result["final"]), sorted(set(result) & {"loader", "model", "optimizer"}))
