# corpus: kind=sampling needs=torch samples=100 loaders=1 trains=loader exit=0
# Batches of unequal size: sequences of similar length, at most 40 steps in a batch.
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Sequences(Dataset):
    def __init__(self):
        stream = random.Random(5)
        self.lengths = [stream.randint(2, 12) for _ in range(50)]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        return torch.arange(1, self.lengths[index] + 1), index % 3


class Buckets:
    def __init__(self, lengths, most):
        self.batches, batch, longest = [], [], 0
        for index in sorted(range(len(lengths)), key=lengths.__getitem__):
            if max(longest, lengths[index]) * (len(batch) + 1) > most:
                self.batches.append(batch)
                batch, longest = [], 0
            batch.append(index)
            longest = max(longest, lengths[index])
        self.batches.append(batch)

    def __iter__(self):
        order = list(self.batches)
        random.shuffle(order)
        return iter(order)

    def __len__(self):
        return len(self.batches)


def collate(batch):
    tokens, labels = zip(*batch)
    return pad_sequence(tokens, batch_first=True), torch.tensor(labels)


random.seed(1)
torch.manual_seed(1)
dataset = Sequences()
loader = DataLoader(dataset, batch_sampler=Buckets(dataset.lengths, 40), collate_fn=collate)
embedding, head = nn.Embedding(13, 6, padding_idx=0), nn.Linear(6, 3)
optimizer = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
for epoch in range(2):
    for tokens, labels in loader:
        loss = nn.functional.cross_entropy(head(embedding(tokens).mean(1)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()), len(loader))
