"""python3 -m bench.memory.bytes_per_parameter ddp|mirror: measures weights,
gradients, residuals and buckets per parameter of a model with negligible
activations; prints JSON."""

import json
import os
import sys
import tempfile
import threading

import torch
import torch.distributed
from bench.memory.device import device
from penstock.exchange import MirrorTrainer, _native
from torch import nn

WIDTH, LAYERS, RANKS = 1024, 12, 2
DENSITY = 0.01


def make_model():
    return nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False)
                           for _ in range(LAYERS)]).to(device().name)


def make_sample():
    return torch.randn(1, WIDTH, device=device().name)


def count(model):
    return sum(one.numel() for one in model.parameters())


class TopK:
    """The usual hook: a residual keeps all but the largest elements."""

    def __init__(self):
        self._residuals = {}
        self._steps = 0

    def __call__(self, bucket):
        values = bucket.buffer()
        if self._steps > 1:  # before, DDP reassigns its buckets
            self._pick(bucket.index(), values)
        self._steps += bucket.is_last()
        done = torch.futures.Future(
            devices=[values.device] if values.is_cuda else None)
        done.set_result(values)
        return done

    def _pick(self, index, values):
        residual = self._residuals.setdefault(index, torch.zeros_like(values))
        residual += values
        largest = residual.abs().topk(int(DENSITY * values.numel())).indices
        values.zero_()
        values[largest] = residual[largest]
        residual[largest] = 0


def ddp():
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{folder}/meeting", rank=0,
            world_size=1)
        model = make_model()
        parallel = nn.parallel.DistributedDataParallel(model)
        top_k = TopK()
        parallel.register_comm_hook(None, lambda _, bucket: top_k(bucket))
        for _ in range(4):
            parallel(make_sample()).sum().backward()
        held = device().current_bytes()
        torch.distributed.destroy_process_group()
    return held / count(model)


def mirror():
    memory = device()
    models = [make_model() for _ in range(RANKS)]
    for other in models[1:]:
        other.load_state_dict(models[0].state_dict())
    trainers = [None] * RANKS
    planned = [0] * RANKS
    ready = threading.Barrier(RANKS)

    def run(transport):
        model = models[transport.rank]
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        trainer = MirrorTrainer(model, optimizer, transport=transport,
                                density=DENSITY, method="two_phase")
        trainers[transport.rank] = trainer
        ready.wait()
        memory.reset_peak()
        for _ in range(3):
            model(make_sample()).sum().backward()
            optimizer.step()
        trainer.wait()
        planned[transport.rank] = trainer.planned_bytes
        ready.wait()
        trainer.close()

    threads = [threading.Thread(target=run, args=[transport])
               for transport in _native.thread_ranks(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = memory.peak_bytes() + sum(planned)
    return held / RANKS / count(models[0])


def main():
    # For a GPU: disables cuBLAS's workspace, which would be counted.
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":0:0"
    torch.set_num_threads(1)
    found = {"ddp": ddp, "mirror": mirror}[sys.argv[1]]()
    largest = 2 * 4 / LAYERS
    print(json.dumps({"bytes": found, "two_largest_gradients": largest}))


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # gloo's threads end slowly
