"""penstock.exchange._activations_plan, and _activations_cost: costs of
plans, and the choice among them."""

import itertools
import random
import unittest

from penstock.exchange._activations_cost import (
    Action,
    Layer,
    allowances,
    predict,
    without_late,
)
from penstock.exchange._activations_plan import BudgetError, choose

LINK = 100.0  # bytes/s
ENOUGH = 1000  # bytes
KEEP, OFFLOAD = Action.KEEP, Action.OFFLOAD
RECOMPUTE, RECOMPUTE_OFFLOAD = Action.RECOMPUTE, Action.RECOMPUTE_OFFLOAD


def layer_of(name, saved=100, argument=20, forward_s=1.0, **others):
    return Layer(
        name,
        saved,
        argument,
        others.get("gradient", 0),
        forward_s,
        others.get("backward_s", 2.0),
        others.get("recompute_s", forward_s),
    )


def equal_layers(count, **figures):
    return [layer_of(f"{index}", **figures) for index in range(count)]


def random_layers(generator, count):
    return [
        layer_of(
            f"{index}",
            generator.randrange(50, 200),
            generator.randrange(1, 50),
            generator.uniform(0.1, 2),
            gradient=generator.randrange(1, 50),
            backward_s=generator.uniform(0.1, 4),
        )
        for index in range(count)
    ]


class PredictTest(unittest.TestCase):
    def test_keeping_all_costs_no_time(self):
        cost = predict(equal_layers(4), [KEEP] * 4, LINK, ENOUGH)
        self.assertEqual(cost.step_s, 12)
        self.assertEqual(cost.peak_bytes, 400)

    def test_gradients_are_there_beside_what_was_saved(self):
        cost = predict(equal_layers(4, gradient=30), [KEEP] * 4, LINK, ENOUGH)
        self.assertEqual(cost.peak_bytes, 430)

    def test_recomputing_takes_its_time(self):
        layers = equal_layers(4, recompute_s=0.75)
        cost = predict(layers, [RECOMPUTE] * 4, LINK, ENOUGH)
        self.assertEqual(cost.step_s, 12 + 4 * 0.75)
        # The activations of the last layer, and the arguments of the others.
        self.assertEqual(cost.peak_bytes, 100 + 3 * 20)

    def test_a_link_as_fast_as_the_forward_pass_hides(self):
        cost = predict(equal_layers(4), [OFFLOAD] * 4, LINK, 200)
        # The last layer's saved tensors are needed before they have left.
        self.assertEqual(cost.step_s, 12)
        self.assertEqual(cost.peak_bytes, 200)

    def test_without_room_nothing_comes_ahead(self):
        hidden = predict(equal_layers(4), [OFFLOAD] * 4, LINK, 200)
        shown = predict(equal_layers(4), [OFFLOAD] * 4, LINK, 100)
        self.assertEqual(shown.step_s, hidden.step_s + 3)
        self.assertEqual(shown.peak_bytes, 100)
        found = allowances(equal_layers(4), [OFFLOAD] * 4, LINK, 100)
        ahead = [one.ahead_bytes for one in found]
        self.assertEqual(ahead, [0] * 4)

    def test_a_slow_link_holds_the_forward_pass_up_where_there_is_no_room(self):
        slow = predict(equal_layers(4), [OFFLOAD] * 4, LINK / 10, 200)
        # Two layers' tensors leave and return, in 10 s each.
        self.assertGreater(slow.step_s, 4 * 10)
        roomy = predict(equal_layers(4), [OFFLOAD] * 4, LINK / 10, 400)
        self.assertEqual(roomy.step_s, 12)

    def test_what_comes_ahead_leaves_room_for_layers_before(self):
        """The first layer's activations must not return before the backward
        pass of the large layer, which has none of its own to wait for."""
        layers = [
            layer_of("first", 100, forward_s=4),
            layer_of("large", 250, argument=0, recompute_s=0.0),
            layer_of("last", 50, argument=0, recompute_s=0.0),
        ]
        actions = [OFFLOAD, RECOMPUTE, RECOMPUTE]
        late = predict(layers, actions, LINK, 300)
        self.assertLessEqual(late.peak_bytes, 300)
        for one in allowances(layers, actions, LINK, 300)[1:]:
            self.assertEqual(one.ahead_bytes, 0)
        early = predict(layers, actions, LINK, 350)
        last = allowances(layers, actions, LINK, 350)[2]
        self.assertEqual(last.ahead_bytes, 100)
        self.assertEqual(early.step_s, late.step_s - 1)


class AllowancesTest(unittest.TestCase):
    def test_what_is_late_may_be_while_there_is_room(self):
        layers = equal_layers(3)
        actions = [OFFLOAD, OFFLOAD, KEEP]
        # The first layer's return during the second layer's backward pass.
        found = allowances(layers, actions, LINK, 250)
        self.assertEqual([one.late_bytes for one in found], [150, 50, 150])
        # At half the rate the second layer keeps its own, for which the plan
        # has room.
        found = allowances(layers, actions, LINK / 2, 250)
        self.assertEqual([one.late_bytes for one in found], [150, 150, 150])


class WithoutLateTest(unittest.TestCase):
    def test_what_stays_in_any_case_is_not_sent(self):
        layers = [layer_of("first", forward_s=2), *equal_layers(3)]
        actions = [OFFLOAD, RECOMPUTE_OFFLOAD, KEEP, OFFLOAD]
        found = without_late(layers, actions, LINK / 10, ENOUGH)
        self.assertEqual(found, [KEEP, RECOMPUTE, KEEP, KEEP])
        found = without_late(layers, actions, LINK, ENOUGH)
        self.assertEqual(found, [OFFLOAD, RECOMPUTE_OFFLOAD, KEEP, KEEP])

    def test_it_costs_no_more(self):
        generator = random.Random(5)
        for _ in range(200):
            layers = random_layers(generator, 8)
            actions = generator.choices(
                [KEEP, RECOMPUTE, RECOMPUTE_OFFLOAD], k=8
            )
            budget = generator.randrange(300, 900)
            before = predict(layers, actions, LINK, budget)
            found = without_late(layers, actions, LINK, budget)
            after = predict(layers, found, LINK, budget)
            self.assertLessEqual(after.step_s, before.step_s + 1e-9)
            most = max(before.peak_bytes, budget)
            self.assertLessEqual(after.peak_bytes, most)


class ChooseTest(unittest.TestCase):
    def test_keeps_all_where_all_fits(self):
        plan = choose(equal_layers(4), 400, LINK)
        self.assertEqual(set(plan.actions.values()), {KEEP})
        self.assertEqual(plan.cost.step_s, 12)

    def test_recomputes_where_there_is_no_tier(self):
        plan = choose(equal_layers(8), 300, None)
        self.assertLessEqual(plan.cost.peak_bytes, 300)
        self.assertEqual(set(plan.actions.values()), {KEEP, RECOMPUTE})

    def test_offloads_over_a_fast_link_and_recomputes_beside_a_slow_one(self):
        fast = choose(equal_layers(8), 300, 100 * LINK)
        self.assertIn(OFFLOAD, fast.actions.values())
        self.assertNotIn(RECOMPUTE, fast.actions.values())
        slow = choose(equal_layers(8), 300, LINK / 100)
        self.assertIn(RECOMPUTE, slow.actions.values())
        self.assertNotIn(OFFLOAD, slow.actions.values())

    def test_a_layer_cheap_to_recompute_is_recomputed_first(self):
        cheap = layer_of("cheap", forward_s=0.01)
        layers = [*equal_layers(3), cheap, *equal_layers(2)]
        plan = choose(layers, 520, LINK / 100)
        chosen = [name for name, one in plan.actions.items() if one is not KEEP]
        self.assertEqual(chosen, ["cheap"])

    def test_a_budget_that_nothing_keeps_to_is_an_error_with_the_least(self):
        with self.assertRaisesRegex(BudgetError, "found needs 101, and 7 alone 101"):
            choose([*equal_layers(7), layer_of("7", 90, gradient=11)], 99, LINK)
        with self.assertRaisesRegex(BudgetError, "name some"):
            choose([], 99, LINK)

    def test_what_is_found_is_near_the_best_of_all_plans(self):
        generator = random.Random(4)
        for _ in range(10):
            layers = random_layers(generator, 5)
            budget = generator.randrange(250, 500)
            link = generator.choice([20.0, 100.0, 500.0])
            best = min(
                (
                    cost.step_s
                    for actions in itertools.product(Action, repeat=5)
                    if (cost := predict(layers, actions, link, budget)).peak_bytes
                    <= budget
                ),
                default=None,
            )
            if best is None:
                with self.assertRaises(BudgetError):
                    choose(layers, budget, link)
                continue
            plan = choose(layers, budget, link)
            self.assertLessEqual(plan.cost.peak_bytes, budget)
            self.assertLessEqual(plan.cost.step_s, 1.1 * best)


if __name__ == "__main__":
    unittest.main()
