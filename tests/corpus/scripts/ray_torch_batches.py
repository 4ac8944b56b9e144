# corpus: kind=frameworks needs=torch,ray,pyarrow samples=- loaders=1 trains=- exit=0 differs=stderr
# No DataLoader: Ray's batches come from processes that its daemons start.
# stderr has names that are new in each run.
import ray
import torch
from torch import nn

ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
ray.data.DataContext.get_current().enable_progress_bars = False
data = ray.data.range(48).map(lambda row: {"x": row["id"] / 48, "y": row["id"] % 3 / 2})
torch.manual_seed(75)
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for batch in data.iter_torch_batches(batch_size=12, dtypes=torch.float32):
        loss = (model(batch["x"].unsqueeze(1)).squeeze(1) - batch["y"]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, repr(loss.item()))
ray.shutdown()
