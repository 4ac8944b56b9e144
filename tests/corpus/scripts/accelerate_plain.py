# corpus: kind=frameworks needs=torch,accelerate samples=80 loaders=2 trains=train_dl exit=0
# accelerate makes a new loader of each, which draws one batch ahead.
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(69)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
data = TensorDataset(torch.randn(40, 4), torch.randn(40, 1))
train_dl = DataLoader(data, batch_size=8, shuffle=True)
eval_dl = DataLoader(data, batch_size=20)
model = nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=10)
model, optimizer, train_dl, eval_dl, scheduler = accelerator.prepare(
    model, optimizer, train_dl, eval_dl, scheduler
)
for epoch in range(2):
    model.train()
    for x, y in train_dl:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    model.eval()
    errors = []
    for x, y in eval_dl:
        with torch.no_grad():
            prediction = model(x)
        prediction, y = accelerator.gather_for_metrics((prediction, y))
        errors.append(nn.functional.mse_loss(prediction, y).item())
    accelerator.print(epoch, repr(loss.item()), errors)
