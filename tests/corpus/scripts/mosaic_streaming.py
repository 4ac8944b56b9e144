# corpus: kind=frameworks needs=torch,numpy,streaming samples=80 loaders=1 trains=loader exit=0
import os

import numpy as np
import torch
from streaming import MDSWriter, StreamingDataLoader, StreamingDataset
from torch import nn

folder = os.path.join(os.environ.get("CORPUS_DATA", "."), "mds")
random = np.random.default_rng(74)
with MDSWriter(out=folder, columns={"x": "ndarray:float32:3", "y": "int"}) as writer:
    for i in range(40):
        x = random.standard_normal(3).astype(np.float32)
        writer.write({"x": x, "y": int(x.sum() > 0)})


def main():
    dataset = StreamingDataset(
        local=folder, shuffle=True, shuffle_seed=1, batch_size=8, num_canonical_nodes=1
    )
    loader = StreamingDataLoader(dataset, batch_size=8, num_workers=1)
    torch.manual_seed(74)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for batch in loader:
            loss = nn.functional.cross_entropy(model(batch["x"]), batch["y"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(
            epoch, repr(loss.item()), loader.state_dict()["sample_in_epoch"] if epoch == 0 else ""
        )


if __name__ == "__main__":
    main()
