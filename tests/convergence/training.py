"""One training of a model by all ranks, with one method of exchanging
gradients."""

import math

import torch
from penstock import exchange
from torch.nn import functional

# Per rank. The learning rate falls to 0 with a cosine.
_SAMPLES = 32
_LEARNING_RATE = 0.1
# Weights are exchanged sparsely, biases densely in one bucket.
_BUCKET_ELEMENTS = 100

# (fraction of all steps, density from there on) of the warm-up.
_WARM_UP = ((0.0, 0.25), (0.05, 0.06))
_WARM_UP_ENDS = 0.1

# The last one has no error feedback.
WAYS = ("dense", "sparse", "forgetful")


def final_loss(
    model_of, data, seed, steps, way, *, warms_up, density, method
):
    """The loss over all the data after that number of steps; each rank draws
    its own batches. density, method: of the ways other than dense."""
    torch.manual_seed(seed)
    model = model_of()
    optimizer = torch.optim.SGD(model.parameters(), lr=_LEARNING_RATE)
    if way == "dense":
        method, density, warms_up = "dense", 1, False
    densities = _densities(steps, density) if warms_up else {}
    trainer = exchange.MirrorTrainer(
        model,
        optimizer,
        bucket_elements=_BUCKET_ELEMENTS,
        density=density,
        method=method,
    )
    draw = torch.Generator().manual_seed(1000 * seed + trainer.rank)
    pictures, classes = data
    for step in range(steps):
        if step in densities:
            trainer.set_density(densities[step])
        rate = _LEARNING_RATE * (1 + math.cos(math.pi * step / steps)) / 2
        optimizer.param_groups[0]["lr"] = rate
        chosen = torch.randint(len(classes), (_SAMPLES,), generator=draw)
        loss = functional.cross_entropy(
            model(pictures[chosen]), classes[chosen]
        )
        loss.backward()
        optimizer.step()
        if way == "forgetful":
            _forget(trainer)
    trainer.close()
    return _loss_over(model, data)


def _densities(steps, density):
    """{step: density from that step on}."""
    changes = (*_WARM_UP, (_WARM_UP_ENDS, density))
    return {int(share * steps): most for share, most in changes}


def _forget(trainer):
    """Discards the elements that were not exchanged."""
    state = trainer.state_dict()
    for layer in state["layers"].values():
        layer["residual"].zero_()
    trainer.load_state_dict(state)


@torch.no_grad()
def _loss_over(model, data, at_once=2000):
    total = 0.0
    for pictures, classes in zip(*(part.split(at_once) for part in data)):
        total += functional.cross_entropy(
            model(pictures), classes, reduction="sum"
        ).item()
    return total / len(data[1])
