# corpus: kind=workers needs=torch samples=90 loaders=2 trains=train_dl exit=0
# One worker for the training, and none for the validation.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
train_ds = TensorDataset(torch.randn(45, 7), torch.randint(2, (45, 1)).float())
valid_ds = TensorDataset(torch.randn(20, 7), torch.randint(2, (20, 1)).float())
train_dl = DataLoader(train_ds, batch_size=9, shuffle=True, num_workers=1)
valid_dl = DataLoader(valid_ds, batch_size=18)
model = nn.Sequential(nn.Linear(7, 5), nn.LeakyReLU(), nn.Linear(5, 1))
opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)


def loss_batch(xb, yb, opt=None):
    loss = nn.functional.binary_cross_entropy_with_logits(model(xb), yb)
    if opt is not None:
        loss.backward()
        opt.step()
        opt.zero_grad()
    return loss.item(), len(xb)


for epoch in range(2):
    model.train()
    losses, nums = zip(*[loss_batch(xb, yb, opt) for xb, yb in train_dl])
    model.eval()
    with torch.no_grad():
        valid, valid_nums = zip(*[loss_batch(xb, yb) for xb, yb in valid_dl])
    print(epoch, repr(sum(losses)), sum(nums), repr(sum(valid)), sum(valid_nums))
