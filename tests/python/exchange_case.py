"""Ranks, models and data for the tests of penstock.exchange. The tests are
skipped if it was not built."""

import hashlib
import sys
import threading
import unittest

try:
    import torch

    from penstock import exchange
    from penstock.exchange import _native
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

torch.set_num_threads(1)  # ranks are threads here


def as_ranks(ranks, work, timeout_s=60):
    """Runs work(transport) in a thread per rank; returns each rank's result
    or exception."""
    results = [None] * ranks

    def run(transport):
        try:
            results[transport.rank] = work(transport)
        except Exception as error:
            results[transport.rank] = error

    threads = [
        threading.Thread(target=run, args=[transport], daemon=True)
        for transport in _native.thread_ranks(ranks)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout_s)
        if thread.is_alive():
            raise AssertionError(f"a rank still runs; so far: {results}")
    return results


def fine(results):
    """The results; raises if one of them is an exception."""
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


_seed_lock = threading.Lock()


def seeded(make, seed=1):
    """The result of make() with a fixed seed; torch's seed is common to all
    threads."""
    with _seed_lock:
        torch.manual_seed(seed)
        return make()


def perceptron(seed=1, inputs=20, hidden=50):
    """Layers of many sizes, from a few to some thousands of weights."""
    return seeded(
        lambda: torch.nn.Sequential(
            torch.nn.Linear(inputs, hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(hidden, hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(hidden, 3),
        ),
        seed,
    )


def batch(step, rank=0, inputs=20, samples=8):
    """A rank's samples and their classes."""
    noise = torch.Generator().manual_seed(1000 * step + rank)
    samples = torch.randn(samples, inputs, generator=noise)
    return samples, samples[:, :3].argmax(1)


def train(model, optimizer, steps, rank=0):
    """steps: a range. Returns the last loss."""
    loss = None
    for step in steps:
        samples, classes = batch(step, rank)
        loss = torch.nn.functional.cross_entropy(model(samples), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def weights_hash(model):
    digest = hashlib.sha256()
    for tensor in model.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


def mean_gradient_training(optimizer_of, steps, ranks):
    """The model after training with the mean of all ranks' gradients, as
    with DDP: computed in one process, by its formula."""
    model = perceptron()
    optimizer = optimizer_of(model.parameters())
    for step in range(steps):
        optimizer.zero_grad()
        for rank in range(ranks):
            samples, classes = batch(step, rank)
            loss = torch.nn.functional.cross_entropy(model(samples), classes)
            (loss / ranks).backward()
        optimizer.step()
    return model


class ExchangeCase(unittest.TestCase):
    def assert_close(self, model, other, most):
        for mine, theirs in zip(model.parameters(), other.parameters()):
            self.assertLess((mine - theirs).abs().max().item(), most)

    def assert_dense_is_the_mean(
        self, trained, optimizer_of, steps, ranks, most=2e-5
    ):
        """trained(transport, optimizer_of, steps, **options) returns a
        model."""
        expected = mean_gradient_training(optimizer_of, steps, ranks)
        results = fine(
            as_ranks(
                ranks,
                lambda transport: trained(
                    transport, optimizer_of, steps, density=1, method="dense"
                ),
            )
        )
        for model in results:
            self.assert_close(model, expected, most)
        self.assertEqual(len(set(map(weights_hash, results))), 1)


__all__ = [
    "ExchangeCase",
    "as_ranks",
    "batch",
    "exchange",
    "fine",
    "mean_gradient_training",
    "perceptron",
    "seeded",
    "torch",
    "train",
    "weights_hash",
]
