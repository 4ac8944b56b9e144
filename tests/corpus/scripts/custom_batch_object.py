# corpus: kind=batches needs=torch samples=48 loaders=1 trains=loader exit=0
# Batches of a class of the script's own, as graph libraries have.
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Graph:
    def __init__(self, nodes, edges, label):
        self.nodes, self.edges, self.label = nodes, edges, label


class GraphBatch:
    def __init__(self, graphs):
        self.nodes = torch.cat([graph.nodes for graph in graphs])
        self.owner = torch.cat([torch.full((len(g.nodes),), i) for i, g in enumerate(graphs)])
        self.labels = torch.tensor([graph.label for graph in graphs])


class Graphs(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        nodes = torch.ones(2 + index % 5, 3) * index / 24
        return Graph(nodes, [(0, 1)], index % 2)


torch.manual_seed(22)
loader = DataLoader(Graphs(), batch_size=6, shuffle=True, num_workers=1, collate_fn=GraphBatch)
model = nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(2):
    for batch in loader:
        sums = torch.zeros(len(batch.labels), 3).index_add(0, batch.owner, batch.nodes)
        loss = nn.functional.cross_entropy(model(sums), batch.labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
