# corpus: kind=batches needs=torch samples=56 loaders=1 trains=loader exit=0
# Nested dictionaries with texts; the first value has no tensor.
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Reviews(Dataset):
    def __len__(self):
        return 28

    def __getitem__(self, index):
        return {
            "text": f"review {index}",
            "inputs": {"input_ids": torch.arange(6) + index, "attention_mask": torch.ones(6)},
            "labels": index % 2,
        }


torch.manual_seed(18)
loader = DataLoader(Reviews(), batch_size=8, shuffle=True)
embedding, head = nn.Embedding(40, 4), nn.Linear(4, 2)
optimizer = torch.optim.AdamW([*embedding.parameters(), *head.parameters()], lr=0.02)
for epoch in range(2):
    for batch in loader:
        hidden = embedding(batch["inputs"]["input_ids"]) * batch["inputs"][
            "attention_mask"
        ].unsqueeze(-1)
        loss = nn.functional.cross_entropy(head(hidden.sum(1)), batch["labels"])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(epoch, repr(loss.item()), sorted(batch["text"])[0])
