# corpus: kind=batches needs=torch samples=60 loaders=1 trains=loader exit=0
# As in detection: a batch is a list of pictures of unequal size and a list of
# targets, and no tensor has the batch's size: the sampler knows it.
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Boxes(Dataset):
    def __len__(self):
        return 30

    def __getitem__(self, index):
        stream = torch.Generator().manual_seed(index)
        height, width = torch.randint(4, 9, (2,), generator=stream).tolist()
        boxes = torch.rand(index % 4, 4, generator=stream)
        return torch.rand(3, height, width, generator=stream), {"boxes": boxes, "image_id": index}


def collate_fn(batch):
    return tuple(zip(*batch))


torch.manual_seed(0)
loader = DataLoader(Boxes(), batch_size=4, shuffle=True, num_workers=2, collate_fn=collate_fn)
model = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(0), nn.Linear(12, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    total = 0.0
    for images, targets in loader:
        counts = [float(len(target["boxes"])) for target in targets]
        loss = sum((model(image) - n).square().mean() for image, n in zip(images, counts))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, repr(total))
