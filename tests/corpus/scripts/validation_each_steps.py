# corpus: kind=loops needs=torch samples=96 loaders=2 trains=train_loader exit=0
# Validation in the middle of an epoch, while the training's workers wait.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(30)
train_loader = DataLoader(
    TensorDataset(torch.randn(48, 6), torch.randn(48, 1)),
    batch_size=8,
    shuffle=True,
    num_workers=2,
)
val_loader = DataLoader(TensorDataset(torch.randn(16, 6), torch.randn(16, 1)), batch_size=8)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
global_step = 0
for epoch in range(2):
    for x, y in train_loader:
        model.train()
        loss = nn.functional.l1_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        global_step += 1
        if global_step % 5 == 0:
            model.eval()
            with torch.inference_mode():
                val = sum(nn.functional.l1_loss(model(a), b).item() for a, b in val_loader)
            print(global_step, repr(loss.item()), repr(val))
print("end", global_step)
