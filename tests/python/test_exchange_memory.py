"""MirrorTrainer with activations, and the memory of that training, in the
arena that stands for a device."""

import ctypes
import unittest

from exchange_case import exchange, torch

from penstock.exchange._activations_cost import Action, Allowance
from penstock.exchange._activations_plan import Plan
from penstock.exchange._tiers import RatedHostTier


def deep(seed=1):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        *[
            torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh())
            for _ in range(8)
        ]
    )


def train(model, optimizer, steps=4):
    torch.manual_seed(2)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(512, 64)).square().mean().backward()
        optimizer.step()


class Arena:
    def __init__(self):
        self._library = ctypes.CDLL(None)
        self._library.device_arena_peak.restype = ctypes.c_size_t
        self._library.device_arena_current.restype = ctypes.c_size_t

    def current(self):
        return self._library.device_arena_current()

    def peak_of(self, work):
        """Peak beyond the memory allocated before."""
        before = self.current()
        self._library.device_arena_reset_peak()
        work()
        return self._library.device_arena_peak() - before

    def set_limit(self, size):
        self._library.device_arena_set_limit(ctypes.c_size_t(size))


class ExchangeMemoryTest(unittest.TestCase):
    def setUp(self):
        self.tier = RatedHostTier(4e9)
        self.addCleanup(self.tier.close)

    def trained(self, make_activations):
        model = deep()
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        trainer = exchange.MirrorTrainer(
            model, optimizer, transport="self", activations=make_activations()
        )
        train(model, optimizer)
        trainer.close()
        return model.state_dict()

    def plan(self, action):
        names = [f"{block}.{part}" for block in range(8) for part in range(2)]
        some = Allowance(1 << 20, 1 << 20, 1 << 20)
        return Plan(
            {name: action for name in names}, {name: some for name in names}
        )

    def test_weights_are_those_of_plain_training(self):
        plain = deep()
        train(plain, torch.optim.SGD(plain.parameters(), 0.1, momentum=0.9))
        for action in Action:
            found = self.trained(
                lambda: exchange.Activations(
                    plan=self.plan(action), tier=self.tier
                )
            )
            for name, tensor in plain.state_dict().items():
                self.assertTrue(torch.equal(tensor, found[name]), action)

    def test_within_a_budget(self):
        plain = deep()
        train(plain, torch.optim.SGD(plain.parameters(), 0.1, momentum=0.9), 6)
        model = deep()
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        activations = exchange.Activations(
            budget_bytes=1200000, layers=map(str, range(8)), tier=self.tier
        )
        trainer = exchange.MirrorTrainer(
            model, optimizer, transport="self", activations=activations
        )
        train(model, optimizer, 6)
        trainer.close()
        self.assertLessEqual(activations.plan.cost.peak_bytes, 1200000)
        self.assertGreater(self.tier.arena.peak_bytes, 0)
        for one, other in zip(plain.parameters(), model.parameters()):
            self.assertTrue(torch.equal(one, other))

    def test_the_device_holds_less(self):
        arena = Arena()
        model = deep()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        images = torch.randn(8192, 64)

        def step():
            optimizer.zero_grad(set_to_none=True)
            model(images).square().mean().backward()

        step()
        plain = arena.peak_of(step)
        for action in (Action.OFFLOAD, Action.RECOMPUTE_OFFLOAD):
            activations = exchange.Activations(
                plan=self.plan(action), tier=self.tier
            )
            with activations.attached(model):
                step()
                self.assertLess(arena.peak_of(step), 0.6 * plain)
        self.assertGreaterEqual(arena.peak_of(step), 0.9 * plain)

    def test_the_device_holds_what_the_budget_allows(self):
        arena = Arena()
        model = deep()
        images = torch.randn(8192, 64)
        size = images.numel() * images.element_size()

        def step():
            model.zero_grad(set_to_none=True)
            model(images).square().mean().backward()

        for budget_bytes in (9 * size, 12 * size):
            activations = exchange.Activations(
                budget_bytes=budget_bytes,
                layers=map(str, range(8)),
                tier=self.tier,
            )
            with activations.attached(model):
                while activations.plan is None:
                    step()
                peak_bytes = arena.peak_of(step)
            # Plus the loss's saved tensors, and its gradient.
            self.assertLess(peak_bytes, budget_bytes + 2 * size)

    def test_an_allocation_over_the_limit_fails(self):
        arena = Arena()
        before = arena.current()
        arena.set_limit(before + (3 << 20))
        self.addCleanup(arena.set_limit, 1 << 40)
        fits = torch.empty(2 << 20, dtype=torch.uint8)
        with self.assertRaisesRegex(RuntimeError, "memory"):
            torch.empty(2 << 20, dtype=torch.uint8)
        del fits
        torch.empty(2 << 20, dtype=torch.uint8)
        self.assertEqual(arena.current(), before)


if __name__ == "__main__":
    unittest.main()
