"""penstock.exchange's activations under PyTorch: the same gradients, wherever
what the backward pass needs has been meanwhile."""

import copy
import gc
import sys
import time
import unittest

try:
    import torch
    from torch import nn
    from torch.multiprocessing.reductions import StorageWeakRef
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

from penstock.exchange._activations import Activations, default_layers
from penstock.exchange._activations_cost import Action, Allowance
from penstock.exchange._activations_plan import BudgetError, Plan
from penstock.exchange._activations_saved import Offloader
from penstock.exchange._tiers import HostArena, RatedHostTier

RATE = 4e9  # bytes/s
WIDE = 1 << 30  # bytes on their way: all that there are
MOVED = (Action.OFFLOAD, Action.RECOMPUTE, Action.RECOMPUTE_OFFLOAD)
torch.set_num_threads(1)


class Block(nn.Module):
    """What changes its buffers, draws random numbers, and writes in place."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.dropout = nn.Dropout(0.3)

    def forward(self, images, *, scale=1.0):
        inner = self.dropout(torch.relu_(self.norm(self.conv(images))))
        return torch.tanh(images + scale * inner)


class Net(nn.Module):
    def __init__(self, blocks=4):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.ModuleList([Block() for _ in range(blocks)])
        self.head = nn.Linear(8, 10)

    def forward(self, images):
        images = self.stem(images)
        for block in self.blocks:
            images = block(images, scale=0.5)
        return self.head(images.mean((2, 3)))


class Runs(nn.Module):
    """Runs a function."""

    def __init__(self, work):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.work = work

    def forward(self, value):
        return self.work(value * self.weight)


def large():
    return torch.randn(1 << 15, requires_grad=True)


def plan_of(action, model, moving_bytes=WIDE):
    allowance = Allowance(moving_bytes, moving_bytes, moving_bytes)
    return Plan(
        {name: action for name in default_layers(model)},
        {name: allowance for name in default_layers(model)},
    )


def train(model, steps, images=16):
    """The last gradients, the buffers, and the next random number."""
    torch.manual_seed(3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        outputs = model(torch.randn(images, 3, 16, 16))
        nn.functional.cross_entropy(
            outputs, torch.randint(10, (images,))
        ).backward()
        optimizer.step()
    return [
        *(one.grad.clone() for one in model.parameters()),
        *(one.clone() for one in model.buffers()),
        torch.rand(1),
    ]


class ActivationsCase(unittest.TestCase):
    def setUp(self):
        self.tier = RatedHostTier(RATE)
        self.addCleanup(self.tier.close)

    def acting(self, action, model, moving_bytes=WIDE):
        return Activations(
            plan=plan_of(action, model, moving_bytes), tier=self.tier
        ).attached(model)

    def assert_same(self, results, others):
        self.assertEqual(len(results), len(others))
        for result, other in zip(results, others):
            self.assertTrue(torch.equal(result, other))


class _Copy:
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


class _Tier:
    """Whose copies out are done where `lets_out`."""

    device = torch.device("cpu")
    arena = HostArena(lambda size: torch.empty(size, dtype=torch.uint8))

    def __init__(self):
        self.lets_out = True
        self.outs = []
        self.ins = 0

    def copy_out(self, source):
        buffer = self.arena.take(source.numel()).copy_(source)
        self.outs.append(_Copy(buffer, self.lets_out))
        return buffer, self.outs[-1]

    def copy_in(self, buffer):
        self.ins += 1
        return _Copy(buffer.clone(), True)


class SameGradientsTest(ActivationsCase):
    def setUp(self):
        super().setUp()
        self.model = Net()
        self.expected = train(copy.deepcopy(self.model), 3)

    def test_whatever_is_done_and_however_much_is_under_way(self):
        for action in MOVED:
            for moving_bytes in (0, 1 << 18, WIDE):
                with self.subTest(action, moving_bytes=moving_bytes):
                    model = copy.deepcopy(self.model)
                    with self.acting(action, model, moving_bytes):
                        self.assert_same(train(model, 3), self.expected)

    def test_over_a_link_that_is_late(self):
        slow = RatedHostTier(5e7)
        self.addCleanup(slow.close)
        plan = plan_of(Action.OFFLOAD, self.model, 1 << 19)
        activations = Activations(plan=plan, tier=slow)
        with activations.attached(self.model):
            self.assert_same(train(self.model, 3), self.expected)
        self.assertGreater(activations.wait_s, 0)

    def test_while_and_after_the_plan_is_made(self):
        expected = train(copy.deepcopy(self.model), 6)
        activations = Activations(budget_bytes=2 << 20, tier=self.tier)
        with activations.attached(self.model):
            self.assert_same(train(self.model, 6), expected)
        self.assertLessEqual(activations.plan.cost.peak_bytes, 2 << 20)
        self.assertNotEqual(set(activations.plan.actions.values()), {Action.KEEP})

    def test_measuring_goes_on_after_a_backward_pass_that_failed(self):
        def failing(_):
            raise KeyError("mine")

        activations = Activations(budget_bytes=2 << 20, tier=self.tier)
        with activations.attached(self.model):
            train(self.model, 1)
            outputs = self.model(torch.randn(16, 3, 16, 16))
            hook = self.model.stem.weight.register_hook(failing)
            with self.assertRaisesRegex(KeyError, "mine"):
                outputs.sum().backward()
            hook.remove()
            train(self.model, 3)
        self.assertIsNotNone(activations.plan)

    def test_layers_that_work_in_place_are_not_among_the_default_ones(self):
        def make():
            torch.manual_seed(1)
            return nn.Sequential(
                nn.Conv2d(3, 8, 3),
                nn.BatchNorm2d(8),
                nn.ReLU(inplace=True),
                nn.Conv2d(8, 10, 14),
                nn.Flatten(),
            )

        activations = Activations(budget_bytes=1 << 20)
        model = make()
        expected = train(make(), 5)
        with activations.attached(model):
            self.assert_same(train(model, 5), expected)
        self.assertNotIn("2", activations.plan.actions)

    def test_a_copy_of_the_model_is_a_model(self):
        images = torch.randn(4, 3, 16, 16)
        for action in MOVED:
            model = copy.deepcopy(self.model)
            with self.subTest(action), self.acting(action, model):
                other = copy.deepcopy(model)
                with torch.no_grad():
                    model.stem.weight.zero_()
                    torch.manual_seed(1)
                    found = other(images)
                    torch.manual_seed(1)
                    expected = self.model(images)
                self.assertTrue(torch.equal(found, expected))

    def test_of_a_frozen_layer_and_in_bfloat16(self):
        self.model.blocks[1].requires_grad_(False)
        other = copy.deepcopy(self.model)
        images = torch.randn(4, 3, 32, 32)

        def gradients(model):
            torch.manual_seed(1)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                model(images).float().sum().backward()
            return [
                one.grad for one in model.parameters() if one.requires_grad
            ]

        expected = gradients(other)
        for action in MOVED:
            self.model.zero_grad()
            with self.subTest(action), self.acting(action, self.model):
                self.assert_same(gradients(self.model), expected)

    def test_of_a_graph_that_goes_back_twice(self):
        model = Runs(lambda value: torch.exp(torch.sin(value)).sum())
        whole = nn.Sequential(model)
        value = large()
        whole(value).backward()
        expected = [2 * value.grad, 2 * model.weight.grad]
        for action in MOVED:
            whole.zero_grad()
            value.grad = None
            with self.subTest(action), self.acting(action, whole):
                result = whole(value)
                result.backward(retain_graph=True)
                result.backward()
                self.assert_same([value.grad, model.weight.grad], expected)

    def test_of_gradients_through_what_is_offloaded(self):
        model = nn.Sequential(Runs(lambda value: value.exp().sum()))
        value = large()
        with self.acting(Action.OFFLOAD, model):
            (first,) = torch.autograd.grad(
                model(value), value, create_graph=True
            )
            (second,) = torch.autograd.grad(first.sum(), value)
        self.assertTrue(torch.equal(second, value.detach().exp()))

    def test_under_no_grad_nothing_is_moved(self):
        with self.acting(Action.OFFLOAD, self.model), torch.no_grad():
            self.model(torch.randn(4, 3, 32, 32))
        self.assertEqual(self.tier.arena.peak_bytes, 0)


class WhatIsSavedTest(unittest.TestCase):
    """Against a tier that copies at once."""

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
            activations = Activations(plan=plan_of(action, model), tier=_Tier())
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
            activations = Activations(plan=plan_of(action, model), tier=_Tier())
            with self.subTest(action), activations.attached(model):
                model(value).backward()
            self.assertTrue(torch.equal(value.grad, expected))


class RecomputingTimeTest(unittest.TestCase):
    def test_work_that_is_queued_counts(self):
        """As a GPU's does."""

        class Queueing(RatedHostTier):
            queued_s = 0.0

            def synchronize(self):
                time.sleep(self.queued_s)
                self.queued_s = 0.0

        tier = Queueing(RATE)
        self.addCleanup(tier.close)

        def work(value):
            tier.queued_s += 0.02
            return value.exp()

        model = nn.Sequential(Runs(work), Runs(lambda value: value.sum()))
        activations = Activations(budget_bytes=1 << 24, tier=tier)
        with activations.attached(model):
            while not activations.layers:
                model(large()).backward()
        self.assertGreaterEqual(activations.layers[0].recompute_s, 0.02)


class WhatMovesTest(ActivationsCase):
    def moved(self, work, value):
        """Bytes that one layer sends to the host."""
        model = nn.Sequential(Runs(work))
        with self.acting(Action.OFFLOAD, model):
            model(value).sum().backward()
        return self.tier.arena.peak_bytes

    def test_one_storage_moves_once(self):
        value = large()
        size = 4 * value.numel()
        # The argument, and what exp() returns, saves, and the square takes.
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
    """Notes when what was copied out is asked for."""

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
        """Of the backward pass of a layer that is offloaded, and one after it
        that runs again."""

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
            result = model(large())  # nothing may still leave in layer 1
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
        tier = _Tier()
        offloader = Offloader(tier, set())
        values = [torch.rand(1 << 15) for _ in range(3)]
        size = 4 * values[0].numel()
        offloader.begin(Allowance(WIDE, WIDE, size))
        packed = [offloader.pack(values[0])]
        tier.lets_out = False
        packed += [offloader.pack(value) for value in values[1:]]
        self.assertTrue(torch.equal(packed[2].get(), values[2]))
        self.assertEqual(tier.ins, 1)  # the first one's
        for one, value in zip(packed, values):
            self.assertTrue(torch.equal(one.get(), value))
        self.assertEqual(tier.ins, 1)

    def test_the_next_steps_storages_are_the_same_layers(self):
        tier = _Tier()
        offloader = Offloader(tier, set())
        for _ in range(2):
            tier.ins = 0
            offloader.begin(Allowance(WIDE, WIDE, 0))
            packed = [offloader.pack(torch.rand(1 << 15)) for _ in range(3)]
            packed[2].get()
            self.assertEqual(tier.ins, 3)  # one layer's come together
            del packed

    def test_a_graph_that_is_dropped_keeps_nothing(self):
        tier = _Tier()
        tier.lets_out = False
        offloader = Offloader(tier, set())
        offloader.begin(Allowance(WIDE, WIDE, WIDE))
        value = torch.rand(1 << 15)
        storage = StorageWeakRef(value.untyped_storage()) if hasattr(
            value, "untyped_storage"
        ) else StorageWeakRef(value.storage().untyped())
        packed = offloader.pack(value)
        del packed, value
        self.assertTrue(storage.expired())

    def test_what_is_late_leaves_where_there_is_no_room_for_it(self):
        tier = _Tier()
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


class RefusalTest(ActivationsCase):
    def test_saved_tensors_that_are_modified(self):
        def modified(value):
            result = torch.exp(value)
            kept = result * 2  # exp() has saved its result
            result.add_(1)
            return kept.sum() + result.sum()

        for action in MOVED:
            model = nn.Sequential(Runs(modified))
            with self.subTest(action), self.acting(action, model):
                result = model(large())
                with self.assertRaisesRegex(RuntimeError, "inplace operation"):
                    result.backward()

    def test_arguments_that_are_modified(self):
        for action in MOVED:
            model = nn.Sequential(Runs(lambda value: value.exp().sum()))
            value = large().exp()
            with self.subTest(action), self.acting(action, model):
                result = model(value)
                with torch.no_grad():
                    value.add_(1)
                with self.assertRaisesRegex(RuntimeError, "inplace operation"):
                    result.backward()

    def test_arguments_that_a_layer_modifies_itself(self):
        model = nn.Sequential(nn.Sequential(nn.ReLU(inplace=True), nn.Tanh()))
        plan = Plan({"0": Action.RECOMPUTE})
        activations = Activations(plan=plan, layers=["0"])
        with activations.attached(model):
            with self.assertRaisesRegex(RuntimeError, "0: modifies in place"):
                model(large().exp())

    def test_weights_that_are_modified(self):
        model = nn.Sequential(Runs(lambda value: value.exp().sum()))
        with self.acting(Action.RECOMPUTE, model):
            result = model(large())
            with torch.no_grad():
                model[0].weight.add_(1)
            with self.assertRaisesRegex(RuntimeError, "inplace operation"):
                result.backward()

    def test_double_backward_through_what_is_recomputed(self):
        for action in (Action.RECOMPUTE, Action.RECOMPUTE_OFFLOAD):
            model = nn.Sequential(Runs(lambda value: value.exp().sum()))
            value = large()
            with self.subTest(action), self.acting(action, model):
                result = model(value)
                with self.assertRaisesRegex(RuntimeError, "create_graph=True"):
                    torch.autograd.grad(result, value, create_graph=True)

    def test_a_layer_that_is_another_one_the_second_time(self):
        calls = []

        def changing(value):
            calls.append(None)
            return (value if len(calls) == 1 else value[1:]).exp().sum()

        model = nn.Sequential(Runs(changing))
        with self.acting(Action.RECOMPUTE, model):
            result = model(large())
            with self.assertRaisesRegex(RuntimeError, "0: its forward pass"):
                result.backward()

    def test_a_budget_that_is_too_small(self):
        model = Net()
        activations = Activations(budget_bytes=1 << 16, tier=self.tier)
        with self.assertRaisesRegex(BudgetError, "65536 bytes.*found needs"):
            with activations.attached(model):
                train(model, 6)
        self.assertNotIn("forward", model.blocks[0].__dict__)

    def test_layers_that_cannot_be(self):
        model = Net()
        for names, why in (
            (["nose"], "no such module"),
            (["blocks.0", "blocks.0.conv"], "is inside blocks.0"),
        ):
            with self.subTest(why), self.assertRaisesRegex(ValueError, why):
                Activations(budget_bytes=1, layers=names).attach(model)
        model.stem = torch.jit.script(model.stem)
        with self.assertRaisesRegex(ValueError, "stem: a script"):
            Activations(budget_bytes=1).attach(model)

    def test_plans_that_cannot_be(self):
        model = Net()
        for one in ({}, {"plan": plan_of(Action.KEEP, model), "budget_bytes": 1}):
            with self.assertRaisesRegex(ValueError, "either"):
                Activations(**one)
        with self.assertRaisesRegex(ValueError, "there is no tier"):
            Activations(plan=plan_of(Action.OFFLOAD, model)).attach(model)
        other = Plan({"nose": Action.KEEP})
        with self.assertRaisesRegex(ValueError, "nose"):
            Activations(plan=other).attach(model)

    def test_two_at_once(self):
        model = Net()
        activations = Activations(budget_bytes=1)
        with activations.attached(model):
            with self.assertRaisesRegex(ValueError, "attached already"):
                activations.attach(model)
            with self.assertRaisesRegex(ValueError, "has been replaced"):
                Activations(budget_bytes=1).attach(model)

    def test_a_rate_that_is_none(self):
        for rate in (0, -1, float("nan")):
            with self.assertRaisesRegex(ValueError, "a rate above 0"):
                RatedHostTier(rate)


class NothingIsLeftTest(ActivationsCase):
    def test_after_an_exception_in_the_forward_pass(self):
        def failing(value):
            value.exp()
            raise KeyError("mine")

        for action in MOVED:
            model = nn.Sequential(Runs(failing))
            with self.subTest(action), self.acting(action, model):
                with self.assertRaisesRegex(KeyError, "mine"):
                    model(large())
            gc.collect()
            before = self.tier.arena.peak_bytes
            large().exp().sum().backward()  # with nobody's hooks
            self.assertEqual(self.tier.arena.peak_bytes, before)

    def test_after_detaching(self):
        model = Net()
        before = {name: dict(one.__dict__) for name, one in model.named_modules()}
        with self.acting(Action.RECOMPUTE, model):
            self.assertIn("forward", model.blocks[0].__dict__)
        for name, one in model.named_modules():
            self.assertEqual(one.__dict__.keys(), before[name].keys())

    def test_a_graph_outlives_its_activations(self):
        model = nn.Sequential(Runs(lambda value: value.exp().sum()))
        for action in MOVED:
            value = large()
            with self.subTest(action), self.acting(action, model):
                result = model(value)
            result.backward()
            self.assertTrue(torch.equal(value.grad, value.detach().exp()))


if __name__ == "__main__":
    unittest.main()
