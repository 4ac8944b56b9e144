# corpus: kind=workers needs=torch,numpy samples=80 loaders=1 trains=loader exit=0
import random

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


def seed_worker(worker_id):
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed + worker_id)


class Augmented(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        picture = np.full((3, 4), index, dtype=np.float32)
        picture += np.random.normal(size=picture.shape).astype(np.float32)
        if random.random() < 0.5:
            picture = picture[:, ::-1].copy()
        return picture, index % 2


generator = torch.Generator()
generator.manual_seed(0)
loader = DataLoader(
    Augmented(),
    batch_size=8,
    shuffle=True,
    num_workers=2,
    worker_init_fn=seed_worker,
    generator=generator,
)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for epoch in range(2):
    total = 0.0
    for picture, label in loader:
        loss = torch.nn.functional.cross_entropy(model(picture), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, repr(total))
