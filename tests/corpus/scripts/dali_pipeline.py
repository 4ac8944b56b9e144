# corpus: kind=frameworks needs=nvidia.dali,numpy samples=- loaders=1 trains=- exit=0
# A pipeline on CPUs, with threads of the library.
import numpy as np
from nvidia.dali import fn, pipeline_def

stream = np.random.default_rng(76)
ROWS = stream.standard_normal((32, 4)).astype(np.float32)


def row(info):
    if info.idx_in_epoch >= len(ROWS):
        raise StopIteration
    return ROWS[info.idx_in_epoch]


@pipeline_def(batch_size=8, num_threads=2, device_id=None, seed=1)
def rows():
    return fn.external_source(source=row, batch=False, parallel=False) * 2


pipeline = rows()
pipeline.build()
weights = np.zeros(4, dtype=np.float32)
for epoch in range(2):
    while True:
        try:
            (out,) = pipeline.run()
        except StopIteration:
            pipeline.reset()
            break
        x = out.as_array()
        error = x @ weights - x.sum(1)
        weights -= 0.05 * (error @ x) / len(x)
    print(epoch, repr(float(np.square(error).mean())))
