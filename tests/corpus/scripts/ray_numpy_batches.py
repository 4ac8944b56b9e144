# corpus: kind=frameworks needs=ray,numpy,pyarrow samples=- loaders=1 trains=- exit=0 differs=stderr
# Ray without torch: batches of numpy arrays.
# stderr has names that are new in each run.
import numpy as np
import ray

ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
ray.data.DataContext.get_current().enable_progress_bars = False
data = ray.data.range(60).map_batches(lambda batch: {"x": batch["id"] / 60.0}, batch_size=20)
weight = 0.0
for epoch in range(2):
    for batch in data.iter_batches(batch_size=15, batch_format="numpy"):
        x = batch["x"]
        error = weight * x - 3 * x
        weight -= 0.5 * float((error * x).mean())
    print(epoch, repr(float(np.square(error).mean())), repr(weight))
ray.shutdown()
