# corpus: kind=frameworks needs=torch,accelerate samples=96 loaders=2 trains=loader exit=0 run="-m accelerate.commands.launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no {script}"
# A process that accelerate starts, on a machine without a GPU.
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Ramp(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, index):
        return {"x": torch.tensor([index / 48, 1.0]), "y": torch.tensor([index % 7 / 7])}


set_seed(70)
accelerator = Accelerator(cpu=True)
loader = DataLoader(Ramp(), batch_size=6, shuffle=True, drop_last=True)
test = DataLoader(Ramp(), batch_size=12)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer, loader, test = accelerator.prepare(model, optimizer, loader, test)
for epoch in range(2):
    for batch in loader:
        loss = nn.functional.mse_loss(model(batch["x"]), batch["y"])
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
    with torch.no_grad():
        errors = [accelerator.gather(model(batch["x"])).mean().item() for batch in test]
    total = accelerator.reduce(loss.detach(), "sum").item()
    accelerator.print(epoch, accelerator.num_processes, repr(total), errors, flush=True)
accelerator.end_training()
