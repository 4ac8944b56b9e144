"""A rank of tests/convergence/run."""

import argparse
import sys

import fashion
import torch
from models import MODELS
from training import WAYS, final_loss

_MOST_WORSE = 1.02  # limit of sparse / dense
_LEAST_WORSE = 1.10  # minimum of forgetful / dense: the control must be visible


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--method", default="two_phase")
    parser.add_argument("--density", type=float, default=0.01)
    parser.add_argument("--no-warm-up", dest="warms_up", action="store_false")
    return parser.parse_args()


def main():
    chosen = options()
    torch.set_num_threads(1)
    data = fashion.load("train")
    is_fine = True
    print(
        f"{chosen.steps} steps; loss over the training data: dense, density "
        f"{chosen.density:g} ({'after' if chosen.warms_up else 'without'} a "
        "warm-up), the same without error feedback",
        flush=True,
    )
    for name in chosen.models.split(","):
        for seed in range(1, chosen.seeds + 1):
            dense, sparse, forgetful = (
                final_loss(
                    MODELS[name], data, seed, chosen.steps, way,
                    warms_up=chosen.warms_up, density=chosen.density,
                    method=chosen.method,
                )
                for way in WAYS
            )
            is_fine &= sparse <= _MOST_WORSE * dense
            is_fine &= forgetful >= _LEAST_WORSE * dense
            print(
                f"{name} seed {seed}: {dense:.4f} {sparse:.4f} "
                f"({sparse / dense:.3f} x) {forgetful:.4f} "
                f"({forgetful / dense:.3f} x)",
                flush=True,
            )
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
