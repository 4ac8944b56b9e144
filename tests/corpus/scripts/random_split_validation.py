# corpus: kind=loops needs=torch samples=140 loaders=2 trains=loaders exit=0
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(11)
x = torch.randn(100, 5)
full = TensorDataset(x, x.sum(1, keepdim=True).sin())
parts = random_split(full, [70, 30], generator=torch.Generator().manual_seed(42))
loaders = {
    phase: DataLoader(part, batch_size=10, shuffle=phase == "train")
    for phase, part in zip(("train", "val"), parts)
}
model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(2):
    for phase in ("train", "val"):
        model.train() if phase == "train" else model.eval()
        running_loss = 0.0
        for inputs, labels in loaders[phase]:
            optimizer.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                loss = nn.functional.mse_loss(model(inputs), labels)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
            running_loss += loss.item() * inputs.size(0)
        print(epoch, phase, repr(running_loss / len(loaders[phase].dataset)))
