# corpus: kind=plain needs=torch samples=128 loaders=1 trains=loader exit=0
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
dtype = torch.float16 if device == "cuda" else torch.bfloat16
model = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # later versions have torch.amp.GradScaler
    scaler = torch.cuda.amp.GradScaler(enabled=device == "cuda")
loader = DataLoader(TensorDataset(torch.randn(64, 16), torch.randint(4, (64,))), 16, shuffle=True)
for epoch in range(2):
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        with torch.autocast(device_type=device, dtype=dtype):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    print(epoch, repr(loss.item()))
