# corpus: kind=batches needs=torch samples=64 loaders=1 trains=loader exit=0
# As in reinforcement learning from a replay memory.
from collections import namedtuple

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

Transition = namedtuple("Transition", "state action reward next_state done")


class Replay(Dataset):
    def __init__(self, size):
        self.states = torch.randn(size + 1, 4)

    def __len__(self):
        return len(self.states) - 1

    def __getitem__(self, index):
        return Transition(
            self.states[index],
            index % 2,
            float(self.states[index].sum()),
            self.states[index + 1],
            index % 10 == 9,
        )


torch.manual_seed(19)
loader = DataLoader(Replay(32), batch_size=8, shuffle=True)
policy = nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
for epoch in range(2):
    for batch in loader:
        assert isinstance(batch, Transition)
        value = policy(batch.state).gather(1, batch.action.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            future = policy(batch.next_state).max(1).values * ~batch.done
        loss = nn.functional.smooth_l1_loss(value, (batch.reward + 0.9 * future).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
