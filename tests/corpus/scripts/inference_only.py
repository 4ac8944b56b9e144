# corpus: kind=loops needs=torch samples=- loaders=1 trains=- exit=0
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)
loader = DataLoader(TensorDataset(torch.randn(50, 8)), batch_size=16, num_workers=2)
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
predictions = []
with torch.no_grad():
    for (x,) in loader:
        predictions.append(model(x).softmax(1))
scores = torch.cat(predictions)
print(scores.shape, scores.argmax(1).tolist())
print(repr(scores.max().item()))
