"""penstock.exchange._activations_plan: what plans cost, and which is chosen."""

import itertools
import random
import unittest

from penstock.exchange._activations_plan import (
    Action,
    BudgetError,
    Layer,
    choose,
    predict,
)

LINK = 100.0  # bytes/s
KEEP, OFFLOAD = Action.KEEP, Action.OFFLOAD
RECOMPUTE, RECOMPUTE_OFFLOAD = Action.RECOMPUTE, Action.RECOMPUTE_OFFLOAD


def equal_layers(count):
    return [Layer(f"{index}", 100, 20, 1.0, 2.0) for index in range(count)]


def random_layers(generator, count):
    return [
        Layer(
            f"{index}",
            generator.randrange(50, 200),
            generator.randrange(1, 50),
            generator.uniform(0.1, 2),
            generator.uniform(0.1, 4),
        )
        for index in range(count)
    ]


class PredictTest(unittest.TestCase):
    def test_keeping_all_costs_no_time(self):
        cost = predict(equal_layers(4), [KEEP] * 4, LINK, 0)
        self.assertEqual(cost.step_s, 12)
        self.assertEqual(cost.peak_bytes, 400)

    def test_recomputing_takes_a_forward_pass_more(self):
        cost = predict(equal_layers(4), [RECOMPUTE] * 4, LINK, 0)
        self.assertEqual(cost.step_s, 16)
        # The last one's activations, and the other ones' arguments.
        self.assertEqual(cost.peak_bytes, 100 + 3 * 20)

    def test_a_link_as_fast_as_the_forward_pass_hides(self):
        cost = predict(equal_layers(4), [OFFLOAD] * 4, LINK, 100)
        # What the last layer saves is needed before it has left.
        self.assertEqual(cost.step_s, 12)
        self.assertEqual(cost.peak_bytes, 200)

    def test_without_a_window_nothing_comes_ahead(self):
        hidden = predict(equal_layers(4), [OFFLOAD] * 4, LINK, 100)
        shown = predict(equal_layers(4), [OFFLOAD] * 4, LINK, 0)
        self.assertEqual(shown.step_s, hidden.step_s + 3)
        self.assertEqual(shown.peak_bytes, 100)

    def test_a_slow_link_holds_the_forward_pass_up(self):
        slow = predict(equal_layers(4), [OFFLOAD] * 4, LINK / 10, 100)
        # Two leave and come back, in 10 s each.
        self.assertGreater(slow.step_s, 4 * 10)


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
        cheap = Layer("cheap", 100, 20, 0.01, 2.0)
        layers = [*equal_layers(3), cheap, *equal_layers(2)]
        plan = choose(layers, 520, LINK / 100)
        chosen = [name for name, one in plan.actions.items() if one is not KEEP]
        self.assertEqual(chosen, ["cheap"])

    def test_a_budget_that_nothing_keeps_to_is_an_error_with_the_least(self):
        with self.assertRaisesRegex(BudgetError, "at least 101, of which 7 alone 101"):
            choose([*equal_layers(7), Layer("7", 101, 0, 1, 1)], 99, LINK)
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
                    for window in (0, budget // 8, budget // 4, budget // 2)
                    if (cost := predict(layers, actions, link, window)).peak_bytes
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
