# corpus: kind=frameworks needs=torch,numpy,webdataset samples=72 loaders=1 trains=loader exit=0
# Batches are made in the dataset (batch_size=None), shuffled again and cut to an epoch.
import os

import numpy as np
import torch
import webdataset as wds
from torch import nn

folder = os.environ.get("CORPUS_DATA", ".")
stream = np.random.default_rng(73)
for shard in range(2):
    with wds.TarWriter(os.path.join(folder, f"train-{shard:02d}.tar")) as sink:
        for i in range(24):
            x = stream.standard_normal(4).astype(np.float32)
            sink.write({"__key__": f"{shard}-{i:03d}", "x.npy": x, "cls": int(x.sum() > 0)})

urls = [os.path.join(folder, f"train-{shard:02d}.tar") for shard in range(2)]
dataset = (
    wds.WebDataset(urls, shardshuffle=False, seed=1)
    .shuffle(10, seed=1)
    .decode()
    .to_tuple("x.npy", "cls")
    .batched(6)
)
loader = wds.WebLoader(dataset, batch_size=None, num_workers=2).with_epoch(6)
torch.manual_seed(73)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(torch.as_tensor(x)), torch.as_tensor(y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
