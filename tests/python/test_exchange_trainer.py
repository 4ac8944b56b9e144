"""penstock.exchange.MirrorTrainer: its trainings have the expected results."""

import copy
import gc
import importlib
import time
import unittest
import warnings
import weakref

from exchange_case import (
    ExchangeCase,
    as_ranks,
    batch,
    exchange,
    fine,
    perceptron,
    seeded,
    torch,
    train,
    weights_hash,
)
from torch.nn import functional

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "decay": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.01),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adam": lambda p: torch.optim.AdamW(p, lr=0.01),
}


class OneRank(ExchangeCase):
    def test_weights_are_bit_for_bit_those_of_plain_training(self):
        for name, optimizer_of in OPTIMIZERS.items():
            with self.subTest(optimizer=name):
                plain, mirrored = perceptron(), perceptron()
                train(plain, optimizer_of(plain.parameters()), range(20))
                optimizer = optimizer_of(mirrored.parameters())
                exchange.MirrorTrainer(mirrored, optimizer, transport="self")
                train(mirrored, optimizer, range(20))
                self.assertEqual(weights_hash(plain), weights_hash(mirrored))

    def test_gradients_never_all_live_at_once(self):
        model = perceptron()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        exchange.MirrorTrainer(model, optimizer, transport="self")
        alive = []

        def count(*_):
            alive.append(sum(p.grad is not None for p in model.parameters()))

        for module in model:
            module.register_full_backward_hook(count)
        train(model, optimizer, range(2))
        self.assertEqual(set(alive), {0})

    def test_settings_of_groups_and_schedulers_are_followed(self):
        def trained(is_mirrored, before):
            model = perceptron()
            optimizer = torch.optim.SGD(
                [
                    {"params": model[0].parameters(), "lr": 0.2},
                    {"params": model[2].parameters(), "momentum": 0.5},
                    {"params": model[4].parameters()},
                ],
                lr=0.1,
            )
            of = torch.optim.lr_scheduler.StepLR
            scheduler = of(optimizer, 2, 0.5) if before else None
            if is_mirrored:
                exchange.MirrorTrainer(model, optimizer, transport="self")
            scheduler = scheduler or of(optimizer, 2, 0.5)
            for step in range(6):
                train(model, optimizer, [step])
                scheduler.step()
            return weights_hash(model)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for before in (False, True):
                with self.subTest(before=before):
                    self.assertEqual(
                        trained(True, before), trained(False, before)
                    )

    def test_close_gives_model_and_optimizer_back(self):
        plain, model = perceptron(), perceptron()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        trainer = exchange.MirrorTrainer(model, optimizer, transport="self")
        train(model, optimizer, range(5))
        trainer.close()
        trainer.close()
        self.assertNotIn("step", vars(optimizer))
        train(model, optimizer, range(5, 10))
        other = torch.optim.SGD(plain.parameters(), lr=0.1, momentum=0.9)
        train(plain, other, range(10))
        self.assertEqual(weights_hash(plain), weights_hash(model))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)

    def test_a_trainer_that_is_dropped_leaves_nothing(self):
        model = perceptron()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        exchange.MirrorTrainer(model, optimizer, transport="self")
        train(model, optimizer, range(1))
        model_there = weakref.ref(model)
        del model, optimizer
        gc.collect()
        self.assertIsNone(model_there())

    def test_activations_may_be_recomputed(self):
        plain, mirrored = perceptron(), perceptron()
        adam = OPTIMIZERS["adam"]
        train(plain, adam(plain.parameters()), range(20))
        optimizer = adam(mirrored.parameters())
        trainer = exchange.MirrorTrainer(
            mirrored,
            optimizer,
            transport="self",
            activations=exchange.Activations(budget_bytes=1 << 20),
        )
        train(mirrored, optimizer, range(20))
        trainer.close()
        self.assertEqual(weights_hash(plain), weights_hash(mirrored))

    def test_activations_that_cannot_be_are_refused(self):
        model = perceptron()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        activations = exchange.Activations(
            budget_bytes=1 << 20, layers=["nowhere"]
        )
        with self.assertRaisesRegex(ValueError, "nowhere"):
            exchange.MirrorTrainer(
                model, optimizer, transport="self", activations=activations
            )
        self.assertNotIn("step", vars(optimizer))

    def test_layers_are_clipped_each_by_itself(self):
        model = perceptron()
        before = copy.deepcopy(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=1)
        exchange.MirrorTrainer(
            model, optimizer, transport="self", clip_norm=1e-3, clip="layer"
        )
        train(model, optimizer, range(1))
        for new, old in zip(model.parameters(), before.parameters()):
            self.assertAlmostEqual((new - old).norm().item(), 1e-3, places=6)


def trained(transport, optimizer_of, steps, model=None, **options):
    """The model, and the trainer, which the caller has to close."""
    model = model or perceptron()
    optimizer = optimizer_of(model.parameters())
    trainer = exchange.MirrorTrainer(
        model, optimizer, transport=transport, timeout_s=20, **options
    )
    train(model, optimizer, range(steps), transport.rank)
    trainer.wait()
    return model, trainer


class SeveralRanks(ExchangeCase):
    def test_dense_is_the_mean_of_gradients(self):
        for name, optimizer_of in OPTIMIZERS.items():
            with self.subTest(optimizer=name):
                self.assert_dense_is_the_mean(
                    lambda *args, **options: trained(*args, **options)[0],
                    optimizer_of,
                    steps=20,
                    ranks=3,
                )

    def test_weights_are_the_same_on_all_ranks_after_many_steps(self):
        for method in ("allgather", "two_phase", "auto"):
            for name in ("sgd", "adam"):
                with self.subTest(method=method, optimizer=name):
                    results = fine(
                        as_ranks(
                            4,
                            lambda transport: weights_hash(
                                trained(
                                    transport,
                                    OPTIMIZERS[name],
                                    200,
                                    density=0.05,
                                    bucket_elements=100,
                                    method=method,
                                )[0]
                            ),
                        )
                    )
                    self.assertEqual(len(set(results)), 1)

    def test_density_may_change_between_steps(self):
        def work(transport):
            model = perceptron()
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            trainer = exchange.MirrorTrainer(
                model,
                optimizer,
                transport=transport,
                method="two_phase",
                bucket_elements=100,
                density=0.25,
            )
            sent = []
            for first, density in ((0, 0.25), (50, 0.05), (100, 0.01)):
                trainer.set_density(density)
                before = trainer.exchanged_bytes
                train(model, optimizer, range(first, first + 50), transport.rank)
                trainer.wait()
                sent.append(trainer.exchanged_bytes - before)
            self.assertGreater(sent[0], 2 * sent[1])
            self.assertGreater(sent[1], 2 * sent[2])
            return weights_hash(model)

        self.assertEqual(len(set(fine(as_ranks(3, work)))), 1)

    def test_a_rate_that_is_a_tensor_is_that_of_its_step(self):
        """A scheduler changes it in place while a step may be pending."""

        def work(transport, waits):
            model = perceptron()
            optimizer = torch.optim.Adam(
                model.parameters(), lr=torch.tensor(0.01)
            )
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
            trainer = exchange.MirrorTrainer(
                model, optimizer, transport=transport, density=1
            )
            for step in range(6):
                if transport.rank == 0:
                    time.sleep(0.02)  # the other rank's steps are pending
                train(model, optimizer, [step], transport.rank)
                if waits:
                    trainer.wait()
                scheduler.step()
            trainer.wait()
            return weights_hash(model)

        results = set()
        for waits in (False, True):
            found = as_ranks(2, lambda transport: work(transport, waits))
            results.update(fine(found))
        self.assertEqual(len(results), 1)

    def test_weights_that_others_use_are_waited_for(self):
        """nn.MultiheadAttention uses its projection's weights without
        calling it."""

        def work(transport):
            model = seeded(lambda: torch.nn.MultiheadAttention(8, 2))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            exchange.MirrorTrainer(model, optimizer, transport=transport)
            for step in range(20):
                samples, _ = batch(step, transport.rank, inputs=8)
                samples = samples.unsqueeze(1)
                model(samples, samples, samples)[0].square().mean().backward()
                optimizer.step()
            return weights_hash(model)

        self.assertEqual(len(set(fine(as_ranks(2, work)))), 1)

    def test_a_use_that_nothing_waited_for_is_an_error(self):
        def work(transport):
            model = perceptron()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            trainer = exchange.MirrorTrainer(
                model, optimizer, transport=transport
            )
            train(model, optimizer, range(2), transport.rank)
            trainer.wait()
            samples, classes = batch(2, transport.rank)
            weights = dict(model.named_parameters())
            hidden = functional.linear(samples, weights["0.weight"])
            with self.assertRaisesRegex(RuntimeError, "0.weight was used out"):
                hidden.sum().backward()

        fine(as_ranks(2, work))

    def test_zero_grad_may_come_before_an_update_is_there(self):
        """For example if zero_grad() is the first call of a step."""

        class Slow(torch.optim.Adam):
            def step(self, closure=None):
                time.sleep(0.02)
                return super().step()

        def work(transport):
            model = perceptron()
            optimizer = Slow(model.parameters(), lr=0.01)
            exchange.MirrorTrainer(model, optimizer, transport=transport)
            for step in range(3):
                samples, classes = batch(step, transport.rank)
                for _ in range(transport.rank * 100):
                    optimizer.zero_grad()
                    time.sleep(0.001)
                loss = functional.cross_entropy(model(samples), classes)
                loss.backward()
                optimizer.step()
            return weights_hash(model)

        self.assertEqual(len(set(fine(as_ranks(2, work)))), 1)

    def test_hooks_find_weights_that_are_waited_for(self):
        """Like the hook of weight_norm(), which exists before the trainer."""

        def work(transport):
            seen = []
            model = perceptron()
            for weights in model[0].parameters():
                model[0].register_forward_pre_hook(
                    lambda *_, weights=weights: seen.append(weights.clone())
                )
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            trainer = exchange.MirrorTrainer(
                model, optimizer, transport=transport
            )
            train(model, optimizer, range(1), transport.rank)
            if transport.rank == 0:
                time.sleep(0.1)  # the other rank has to wait
            train(model, optimizer, range(1, 2), transport.rank)
            seen.clear()
            model(batch(2)[0])
            trainer.wait()
            for before, now in zip(seen, model[0].parameters()):
                self.assertTrue(torch.equal(before, now))

        fine(as_ranks(2, work))

    def test_a_copy_of_the_model_is_a_model(self):
        def work(transport):
            model = perceptron()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            trainer = exchange.MirrorTrainer(
                model, optimizer, transport=transport
            )
            train(model, optimizer, range(2), transport.rank)
            trainer.wait()
            average = copy.deepcopy(model)
            samples, _ = batch(2)
            self.assertTrue(torch.equal(average(samples), model(samples)))
            train(model, optimizer, range(2, 4), transport.rank)
            self.assertFalse(torch.equal(average(samples), model(samples)))

        fine(as_ranks(2, work))

    def test_backward_through_old_weights_is_an_error(self):
        def work(transport):
            model = perceptron()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            exchange.MirrorTrainer(model, optimizer, transport=transport)
            old = model(batch(0)[0]).sum()
            train(model, optimizer, range(1), transport.rank)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace"):
                old.backward()

        fine(as_ranks(2, work))

    def test_the_stall_is_counted(self):
        def work(transport):
            _, trainer = trained(transport, OPTIMIZERS["sgd"], 5)
            return trainer.exchange_wait_s, trainer.exchanged_bytes

        for wait_s, sent_bytes in fine(as_ranks(2, work)):
            self.assertGreater(wait_s, 0)
            self.assertGreater(sent_bytes, 0)

    def test_hooks_of_an_optimizers_step_are_called(self):
        if not hasattr(torch.optim.SGD, "register_step_post_hook"):
            self.skipTest("PyTorch 1 has none")
        everyones = importlib.import_module("torch.optim.optimizer")
        calls = []

        def call(*_):
            calls.append(1)

        def work(transport, register=None):
            model = perceptron()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            if register is not None:
                register(optimizer, call)
            exchange.MirrorTrainer(model, optimizer, transport=transport)
            train(model, optimizer, range(2))

        def called():
            return len([calls.pop() for _ in range(len(calls))])

        for register in (
            torch.optim.SGD.register_step_pre_hook,
            torch.optim.SGD.register_step_post_hook,
        ):
            with self.subTest(register=register.__name__):
                work("self", register)
                self.assertGreater(called(), 0)
                fine(as_ranks(2, lambda one: work(one, register)))
                self.assertGreater(called(), 0)
        for register in (
            everyones.register_optimizer_step_pre_hook,
            everyones.register_optimizer_step_post_hook,
        ):
            with self.subTest(register=register.__name__):
                hook = register(call)
                self.addCleanup(hook.remove)
                work("self")
                self.assertGreater(called(), 0)
                fine(as_ranks(2, work))
                self.assertGreater(called(), 0)
                hook.remove()

    def test_a_failing_optimizer_is_the_trainers_error(self):
        class Failing(torch.optim.Adam):
            def step(self, closure=None):
                raise ArithmeticError("no step")

        def work(transport):
            with self.assertRaisesRegex(ArithmeticError, "no step"):
                trained(transport, Failing, 3)

        fine(as_ranks(2, work))


if __name__ == "__main__":
    unittest.main()
