"""Which activations are copied to the host, and when."""

import unittest

from activations_case import (
    MOVED,
    RATE,
    WIDE,
    ActivationsCase,
    Net,
    Runs,
    large,
    nn,
    plan_of,
    torch,
    train,
)
from torch.multiprocessing.reductions import StorageWeakRef

from penstock.exchange._activations import Activations
from penstock.exchange._activations_cost import Action, Allowance
from penstock.exchange._activations_plan import Plan
from penstock.exchange._activations_saved import Offloader, storage_of
from penstock.exchange._tiers import HostArena, RatedHostTier


class AtOnceCopy:
    def __init__(self, target, is_done):
        self._target = target
        self._is_done = is_done

    def done(self):
        return self._is_done

    def finish(self):
        self._is_done = True

    def cancel(self):
        return not self._is_done

    def use(self):
        return self._target


class AtOnceTier:
    """A tier whose copies to the host complete while `lets_out` is true."""

    device = torch.device("cpu")
    arena = HostArena(lambda size: torch.empty(size, dtype=torch.uint8))

    def __init__(self):
        self.lets_out = True
        self.outs = []
        self.ins = 0

    def copy_out(self, source):
        buffer = self.arena.take(source.numel()).copy_(source)
        self.outs.append(AtOnceCopy(buffer, self.lets_out))
        return buffer, self.outs[-1]

    def copy_in(self, buffer):
        self.ins += 1
        return AtOnceCopy(buffer.clone(), True)


class WhatIsSavedTest(unittest.TestCase):
    """With a tier that copies at once."""

    def gradients(self, model, *values):
        model.zero_grad()
        results = model(*values)
        sum(one.square().sum() for one in results).backward()
        return [one.grad.clone() for one in model.parameters()]

    def test_parts_of_a_storage_that_are_modified_one_by_one(self):
        torch.manual_seed(1)
        model = nn.Sequential(nn.LSTMCell(128, 128))
        value = torch.randn(64, 128)
        expected = self.gradients(model, value)
        for action in MOVED:
            activations = Activations(plan=plan_of(action, model), tier=AtOnceTier())
            with self.subTest(action), activations.attached(model):
                found = self.gradients(model, value)
            for one, other in zip(expected, found):
                self.assertTrue(torch.equal(one, other))

    def test_conjugates(self):
        def work(value):
            turned = torch.complex(value, value.exp()).conj()
            return (turned * torch.complex(value.sin(), value)).real.sum()

        model = nn.Sequential(Runs(work))
        value = large()
        model(value).backward()
        expected = value.grad.clone()
        for action in MOVED:
            value.grad = None
            activations = Activations(plan=plan_of(action, model), tier=AtOnceTier())
            with self.subTest(action), activations.attached(model):
                model(value).backward()
            self.assertTrue(torch.equal(value.grad, expected))


class WhatMovesTest(ActivationsCase):
    def moved(self, work, value):
        """Number of bytes that one layer sends to the host."""
        model = nn.Sequential(Runs(work))
        with self.acting(Action.OFFLOAD, model):
            model(value).sum().backward()
        return self.tier.arena.peak_bytes

    def test_one_storage_moves_once(self):
        value = large()
        size = 4 * value.numel()
        # The argument, and exp()'s result, which it saves and the square takes.
        self.assertEqual(self.moved(lambda one: one.exp().square(), value), 2 * size)

    def test_views_move_as_what_they_are_views_of(self):
        def work(value):
            whole = value.exp()
            return whole[1:] * whole[:-1]

        value = large()
        self.assertEqual(self.moved(work, value), 2 * 4 * value.numel())

    def test_parameters_and_small_tensors_stay(self):
        model = nn.Sequential(nn.Linear(512, 512))
        with self.acting(Action.OFFLOAD, model):
            model(torch.randn(4, 512, requires_grad=True)).sum().backward()
        self.assertEqual(self.tier.arena.peak_bytes, 0)

    def test_the_host_gets_its_buffers_back(self):
        model = Net()
        with self.acting(Action.OFFLOAD, model):
            train(model, 1)
            peak = self.tier.arena.peak_bytes
            train(model, 3)
        self.assertGreater(peak, 1 << 20)
        self.assertEqual(self.tier.arena.peak_bytes, peak)


class NotingTier(RatedHostTier):
    """Records the requests for tensors that were copied out."""

    def __init__(self):
        super().__init__(RATE)
        self.notes = []

    def copy_in(self, buffer):
        self.notes.append("in")
        return super().copy_in(buffer)


class WhenTest(unittest.TestCase):
    def setUp(self):
        self.tier = NotingTier()
        self.addCleanup(self.tier.close)

    def notes(self, ahead_bytes):
        """Records of the backward pass, with an offloaded layer and a
        recomputed layer after it."""

        def work(value):
            self.tier.notes.append("run")
            return value.exp()

        model = nn.Sequential(
            Runs(torch.exp), Runs(work), Runs(lambda value: value.sum())
        )
        allowances = {
            name: Allowance(0 if name == "1" else WIDE, WIDE, ahead_bytes)
            for name in "012"
        }
        plan = Plan(
            {"0": Action.OFFLOAD, "1": Action.RECOMPUTE, "2": Action.KEEP},
            allowances,
        )
        with Activations(plan=plan, tier=self.tier).attached(model):
            result = model(large())  # nothing may still be leaving in layer 1
            self.tier.notes.clear()
            result.backward()
        return self.tier.notes

    def test_what_was_offloaded_comes_while_later_layers_run_again(self):
        self.assertEqual(self.notes(WIDE)[0], "in")

    def test_and_not_where_there_is_no_room(self):
        notes = self.notes(0)
        self.assertEqual(notes[0], "run")
        self.assertIn("in", notes)


class OffloaderTest(unittest.TestCase):
    def test_what_has_not_left_is_not_counted_as_back(self):
        tier = AtOnceTier()
        offloader = Offloader(tier, set())
        values = [torch.rand(1 << 15) for _ in range(3)]
        size = 4 * values[0].numel()
        offloader.begin(Allowance(WIDE, WIDE, size))
        packed = [offloader.pack(values[0])]
        tier.lets_out = False
        packed += [offloader.pack(value) for value in values[1:]]
        self.assertTrue(torch.equal(packed[2].get(), values[2]))
        self.assertEqual(tier.ins, 1)  # the first layer's
        for one, value in zip(packed, values):
            self.assertTrue(torch.equal(one.get(), value))
        self.assertEqual(tier.ins, 1)

    def test_the_next_steps_storages_are_the_same_layers(self):
        tier = AtOnceTier()
        offloader = Offloader(tier, set())
        for _ in range(2):
            tier.ins = 0
            offloader.begin(Allowance(WIDE, WIDE, 0))
            packed = [offloader.pack(torch.rand(1 << 15)) for _ in range(3)]
            packed[2].get()
            self.assertEqual(tier.ins, 3)  # all of one layer come together
            del packed

    def test_a_graph_that_is_dropped_keeps_nothing(self):
        tier = AtOnceTier()
        tier.lets_out = False
        offloader = Offloader(tier, set())
        offloader.begin(Allowance(WIDE, WIDE, WIDE))
        value = torch.rand(1 << 15)
        storage = StorageWeakRef(storage_of(value))
        packed = offloader.pack(value)
        del packed, value
        self.assertTrue(storage.expired())

    def test_what_is_late_leaves_where_there_is_no_room_for_it(self):
        tier = AtOnceTier()
        tier.lets_out = False
        offloader = Offloader(tier, set())
        offloader.begin(Allowance(WIDE, WIDE, WIDE))
        packed = offloader.pack(torch.rand(1 << 15))
        place = offloader.begin(Allowance(WIDE, WIDE, 0))
        offloader.reach(place, Allowance(WIDE, WIDE, 0))
        self.assertFalse(tier.outs[0].done())
        offloader.reach(place, Allowance(WIDE, 0, 0))
        self.assertTrue(tier.outs[0].done())
        packed.get()
        self.assertEqual(tier.ins, 1)


if __name__ == "__main__":
    unittest.main()
