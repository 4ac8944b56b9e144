"""penstock.exchange rejects unsupported models and options, on every rank."""

import functools
import threading
import unittest

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
from torch import nn
from torch.nn.utils import clip_grad_norm_


def trainer_of(model, optimizer=None, **options):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    options = {"transport": "self", **options}
    return exchange.MirrorTrainer(model, optimizer, **options), optimizer


class Options(ExchangeCase):
    def test_out_of_range(self):
        for options, message in (
            ({"density": 0}, "density 0: above 0"),
            ({"density": -0.1}, "density -0.1: above 0"),
            ({"density": 1.5}, "at most 1"),
            ({"density": float("nan")}, "density nan"),
            ({"timeout_s": 0}, "timeout_s 0: must be above 0"),
            ({"bucket_elements": -1}, "bucket_elements -1"),
            ({"transport": "smoke"}, "no transport 'smoke': \"mpi\""),
            ({"clip": "some"}, "no way to clip 'some'"),
            ({"clip_norm": -1, "clip": "layer"}, "clip_norm -1"),
        ):
            with self.subTest(options):
                with self.assertRaisesRegex(ValueError, message):
                    trainer_of(perceptron(), **options)

    def test_unknown(self):
        for options, message in (
            ({"method": "magic"}, 'no method "magic": auto, dense'),
            ({"residual": "int8"}, 'no residual "int8": float32'),
        ):
            with self.subTest(options):
                for error in as_ranks(
                    2,
                    lambda transport: trainer_of(
                        perceptron(), transport=transport, **options
                    ),
                ):
                    self.assertIsInstance(error, ValueError)
                    self.assertRegex(str(error), message)
        with self.assertRaisesRegex(TypeError, "densities"):
            trainer_of(perceptron(), densities=1)


class Models(ExchangeCase):
    def check(self, message, model, optimizer=None):
        with self.assertRaisesRegex(ValueError, message):
            trainer_of(model, optimizer)

    def test_half_precision(self):
        self.check("0.weight is torch.bfloat16", perceptron().bfloat16())
        self.check("0.weight is torch.float64", perceptron().double())

    def test_weights_that_are_not_contiguous(self):
        model = perceptron()
        model[0].weight = nn.Parameter(torch.randn(20, 50).t())
        self.check("0.weight is not contiguous: make it so", model)
        model = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        self.check("weight is not contiguous", model)

    def test_another_device(self):
        model = nn.Linear(2, 3, device="meta")
        self.check("weight is on meta: only the CPU's and CUDA's", model)

    def test_without_shape_or_elements(self):
        model = nn.Sequential(nn.Linear(2, 2), nn.LazyLinear(3))
        self.check("1.weight has no shape yet: run the model", model)
        model = nn.Linear(2, 2)
        model.bias = nn.Parameter(torch.empty(0))
        self.check("bias has no elements: freeze it", model)
        model = perceptron().requires_grad_(False)
        self.check("the model has nothing to train", model)

    def test_sparse_gradients(self):
        self.check(
            "sparse gradients: make it with sparse=False",
            nn.Sequential(nn.Embedding(4, 2, sparse=True)),
        )

    def test_optimizers(self):
        model = perceptron()
        self.check(
            "LBFGS cannot step for one parameter at a time",
            model,
            torch.optim.LBFGS(model.parameters()),
        )
        self.check(
            "4.weight is not the optimizer's: give it that",
            model,
            torch.optim.SGD(model[:4].parameters(), lr=1),
        )
        both = [*model.parameters(), *perceptron().parameters()]
        self.check(
            "parameters of another model", model, torch.optim.SGD(both, lr=1)
        )

    def test_a_model_that_has_a_trainer(self):
        model = perceptron()
        activations = exchange.Activations(budget_bytes=1 << 20)
        trainer, optimizer = trainer_of(model, activations=activations)
        with self.assertRaisesRegex(ValueError, "has a trainer already"):
            trainer_of(model, activations=activations)
        self.assertIn("forward", vars(model[0]))  # the first rank's
        trainer.close()
        trainer_of(model, optimizer)[0].close()

    def test_all_ranks_say_why_one_cannot(self):
        def work(transport):
            model = perceptron()
            if transport.rank == 1:
                model.double()
            trainer_of(model, transport=transport)

        for error in as_ranks(3, work):
            self.assertIsInstance(error, ValueError)
            self.assertRegex(str(error), "rank 1.*0.weight is torch.float64")

    def test_other_weights(self):
        def work(transport):
            model = perceptron()
            if transport.rank == 2:
                model[2].bias.data[7] += 1
            trainer_of(model, transport=transport)

        for error in as_ranks(3, work):
            self.assertIsInstance(error, ValueError)
            self.assertRegex(
                str(error), "rank 2 begins with another 2.bias than rank 0"
            )

    def test_other_layers_and_densities(self):
        def other_layers(transport):
            layers = 5 if transport.rank else 3
            trainer_of(perceptron()[:layers], transport=transport)

        def other_density(transport):
            density = 0.1 if transport.rank else 0.2
            trainer_of(perceptron(), transport=transport, density=density)

        for work in (other_layers, other_density):
            errors = as_ranks(2, work)
            for error in errors:
                self.assertIsInstance(error, ValueError)
            self.assertEqual(str(errors[0]), str(errors[1]))

    def test_a_state_of_another_density(self):
        def work(transport):
            model = perceptron()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            trainer = exchange.MirrorTrainer(
                model, optimizer, transport=transport, density=0.25
            )
            trainer.set_density(0.01)
            state = trainer.state_dict()
            trainer.set_density(0.05)
            with self.assertRaisesRegex(ValueError, r"set_density\(0.01\)"):
                trainer.load_state_dict(state)
            trainer.set_density(0.01)
            trainer.load_state_dict(state)

        fine(as_ranks(2, work))

    def test_a_density_that_is_set_to_what_cannot_be(self):
        def work(densities, transport):
            model = perceptron()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            trainer = exchange.MirrorTrainer(
                model, optimizer, transport=transport, bucket_elements=100
            )
            with self.assertRaises(ValueError) as raised:
                trainer.set_density(densities[transport.rank])
            train(model, optimizer, range(5), transport.rank)  # as before
            return str(raised.exception)

        for densities, message in (
            ((0.1, 0.2), "layer 0.*rank 1 has a density of 0.2, rank 0"),
            ((0.1, 0), "rank 1: layer .*: a density of 0 is not above 0"),
            ((float("nan"), 0.1), "rank 0: layer .*: a density of nan"),
        ):
            with self.subTest(densities):
                found = set(
                    fine(as_ranks(2, functools.partial(work, densities)))
                )
                self.assertEqual(len(found), 1)
                self.assertRegex(found.pop(), message)


class Steps(ExchangeCase):
    def setUp(self):
        self.model = perceptron()
        self.trainer, self.optimizer = trainer_of(self.model)
        self.addCleanup(self.trainer.close)

    def loss(self):
        samples, classes = batch(0)
        return nn.functional.cross_entropy(self.model(samples), classes)

    def test_clipping_by_the_norm_of_all(self):
        with self.assertRaisesRegex(ValueError, 'clip="layer"'):
            trainer_of(perceptron(), clip_norm=1)
        self.loss().backward()
        for clip in (
            torch.nn.utils.clip_grad_norm_,
            torch.nn.utils.clip_grad_value_,
        ):
            with self.assertRaisesRegex(RuntimeError, "comes too late"):
                clip(self.model.parameters(), 1.0)
        with self.assertRaisesRegex(RuntimeError, "comes too late"):
            torch.nn.utils.clip_grad_norm_(self.model[0].weight, 1.0)

    def test_clipping_that_was_imported_by_name(self):
        self.loss().backward()
        with self.assertRaisesRegex(RuntimeError, "comes too late"):
            clip_grad_norm_(self.model.parameters(), 1.0)

    def test_clipping_of_other_models_goes_on(self):
        other = perceptron()
        other(batch(0)[0]).sum().backward()
        norm = torch.nn.utils.clip_grad_norm_(other.parameters(), 1.0)
        self.assertGreater(norm, 0)

    def test_another_density_in_the_middle_of_a_step(self):
        self.loss().backward()
        with self.assertRaisesRegex(RuntimeError, "call it after the step"):
            self.trainer.set_density(0.1)

    def test_another_density_that_cannot_be(self):
        with self.assertRaisesRegex(ValueError, "density 2: above 0"):
            self.trainer.set_density(2)

    def test_a_grad_scaler(self):
        try:
            scaler = torch.amp.GradScaler("cpu")
        except AttributeError:
            self.skipTest("this torch has no GradScaler for the CPU")
        scaler.scale(self.loss()).backward()
        with self.assertRaisesRegex(RuntimeError, "train without it"):
            scaler.step(self.optimizer)

    def test_accumulation(self):
        self.loss().backward()
        with self.assertRaisesRegex(RuntimeError, "cannot be accumulated"):
            self.loss().backward()

    def test_a_parameter_without_gradient(self):
        self.model[:4](batch(0)[0]).sum().backward()
        with self.assertRaisesRegex(
            RuntimeError, "2 parameters got no gradient.*4.bias"
        ):
            self.optimizer.step()

    def test_what_was_frozen_when_the_trainer_was_made(self):
        model = perceptron()
        model[0].requires_grad_(False)
        trainer, optimizer = trainer_of(model)
        self.addCleanup(trainer.close)
        train(model, optimizer, range(1))
        model[0].requires_grad_(True)
        with self.assertRaisesRegex(RuntimeError, "were frozen.*make it anew"):
            train(model, optimizer, range(1, 2))

    def test_a_model_that_is_cast_meanwhile(self):
        self.model.double()
        samples, classes = batch(0)
        loss = nn.functional.cross_entropy(
            self.model(samples.double()), classes
        )
        with self.assertRaisesRegex(
            RuntimeError, "weights must stay float32 on cpu"
        ):
            loss.backward()
            self.optimizer.step()

    def test_create_graph(self):
        with self.assertRaisesRegex(RuntimeError, "create_graph=True"):
            self.loss().backward(create_graph=True)

    def test_a_closure(self):
        with self.assertRaisesRegex(ValueError, "takes no closure"):
            self.optimizer.step(lambda: self.loss())


class Gradients(ExchangeCase):
    def test_not_finite(self):
        """All ranks raise, including the one whose last gradient is late,
        and none changes its weights by it."""
        has_ended = threading.Event()

        def be_late():
            has_ended.wait(0.3)  # which the other rank must not have yet

        def work(transport):
            model = perceptron()
            trainer, optimizer = trainer_of(
                model, transport=transport, timeout_s=20, bucket_elements=0
            )
            train(model, optimizer, range(2), transport.rank)
            trainer.wait()
            before = weights_hash(model)
            samples, classes = batch(2, transport.rank)
            if transport.rank == 1:
                samples[0, 0] = float("nan")
            else:
                model[0].weight.register_hook(lambda _: be_late())
            nn.functional.cross_entropy(model(samples), classes).backward()
            with self.assertRaisesRegex(ValueError, "was infinite or no number"):
                trainer.wait()
            with self.assertRaises(ValueError):
                trainer.close()
            has_ended.set()
            self.assertEqual(weights_hash(model), before)

        fine(as_ranks(2, work))

    def test_not_finite_where_a_rank_goes(self):
        """The original error is raised, not the end of the other rank."""
        was_found = threading.Event()

        def work(transport):
            model = perceptron()
            trainer, _ = trainer_of(
                model, transport=transport, timeout_s=20, bucket_elements=0
            )
            samples, classes = batch(2, transport.rank)
            samples[0, 0] = float("nan")
            loss = nn.functional.cross_entropy(model(samples), classes)
            if transport.rank == 1:

                def leave(_):
                    was_found.wait(20)
                    trainer._exchange.fail(ArithmeticError("on its way"))

                model[0].weight.register_hook(leave)
                with self.assertRaisesRegex(ValueError, "on its way"):
                    loss.backward()
                return
            loss.backward()
            exchanged = trainer._exchange
            with self.assertRaisesRegex(ValueError, "no number"):
                exchanged.wait(exchanged.layers[0])
            was_found.set()
            with self.assertRaisesRegex(ValueError, "no number"):
                trainer.wait()
            with self.assertRaisesRegex(ConnectionError, "on its way"):
                exchanged.wait(exchanged.layers[-1])

        fine(as_ranks(2, work))

    def test_what_a_rank_raises_the_others_are_told(self):
        def work(transport):
            model = perceptron()
            _, optimizer = trainer_of(model, transport=transport)
            train(model, optimizer, range(3), transport.rank)
            if transport.rank == 1:
                model[:4](batch(3)[0]).sum().backward()
                optimizer.step()
            train(model, optimizer, range(3, 1000), transport.rank)

        first, own, last = as_ranks(3, work)
        self.assertRegex(str(own), "2 parameters got no gradient")
        for error in (first, last):
            self.assertIsInstance(error, ConnectionError)
            self.assertRegex(
                str(error), "rank 1 has failed: .*2 parameters got no gradient"
            )

    def test_sparse(self):
        class Table(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(4, 2))

            def forward(self, places):
                return nn.functional.embedding(
                    places, self.weight, sparse=True
                )

        def work(transport):
            model = seeded(Table)
            trainer_of(model, transport=transport)
            with self.assertRaisesRegex(RuntimeError, "weight is sparse"):
                model(torch.tensor([1, 2])).sum().backward()

        fine(as_ranks(2, work))


if __name__ == "__main__":
    unittest.main()
