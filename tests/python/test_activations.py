"""penstock.exchange's activations under PyTorch: the gradients are the same,
wherever the saved tensors were meanwhile."""

import copy
import gc
import time
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

from penstock.exchange._activations import Activations, default_layers
from penstock.exchange._activations_cost import Action
from penstock.exchange._activations_plan import BudgetError, Plan
from penstock.exchange._tiers import RatedHostTier


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
        layers = len(default_layers(self.model))
        activations = Activations(budget_bytes=2 << 20, tier=self.tier)
        with activations.attached(self.model), self.assertLogs(
            "penstock.exchange", "INFO"
        ) as log:
            self.assert_same(train(self.model, 6), expected)
        self.assertIn(f"for {layers} layers within 2097152 bytes", log.output[0])
        self.assertRegex(log.output[1], r"of the layers \d .*; a step of .* is exp")
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


class RecomputingTimeTest(unittest.TestCase):
    def test_work_that_is_queued_counts(self):
        """Like a GPU's queued work."""

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
            large().exp().sum().backward()  # without any hooks
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
