# corpus: kind=workers needs=torch samples=64 loaders=1 trains=loader exit=0
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(
    TensorDataset(torch.randn(64, 3, 4, 4), torch.randint(5, (64,))),
    batch_size=16,
    shuffle=True,
    pin_memory=True,
    num_workers=2,
    drop_last=True,
    timeout=60,
)
model = nn.Sequential(nn.Flatten(), nn.Linear(48, 5)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for images, labels in loader:
    images = images.to(device, non_blocking=True)
    labels = labels.to(device, non_blocking=True)
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(repr(loss.item()))
