"""penstock.exchange of a model on a GPU: an emulated one, and a real one if
there is one."""

import contextlib
import itertools
import types
import unittest
from unittest import mock

import penstock.exchange

from exchange_case import (
    ExchangeCase,
    as_ranks,
    batch,
    exchange,
    fine,
    perceptron,
    torch,
    train,
    weights_hash,
)
from emulated_gpu import EmulatedGpu, emulated_gpus

from penstock.exchange import _exchange, _layers, _place
from test_exchange_trainer import OPTIMIZERS, trained

# Layers of several elements for each method, and small ones in a bucket.
OPTIONS = {"density": 0.05, "bucket_elements": 100}


class Emulated(ExchangeCase):
    def setUp(self):
        patches = contextlib.ExitStack()
        self.addCleanup(patches.close)
        self.places = patches.enter_context(emulated_gpus())

    def test_dense_is_the_mean_of_gradients(self):
        for name, optimizer_of in OPTIMIZERS.items():
            with self.subTest(optimizer=name):
                self.places.clear()
                self.assert_dense_is_the_mean(
                    lambda *args, **options: trained(*args, **options)[0],
                    optimizer_of,
                    steps=10,
                    ranks=2,
                )
                is_plain = name in ("sgd", "decay")
                layers = len(list(perceptron().parameters()))
                steps = 0 if is_plain else 10 * layers
                found = [place.steps_apart for place in self.places]
                self.assertEqual(found, [steps, steps])

    def test_weights_are_the_same_on_all_ranks(self):
        for method in ("allgather", "two_phase"):
            for residual in ("float32", "bfloat16", "host"):
                with self.subTest(method=method, residual=residual):
                    results = fine(
                        as_ranks(
                            2,
                            lambda transport: weights_hash(
                                trained(
                                    transport,
                                    OPTIMIZERS["adam"],
                                    10,
                                    method=method,
                                    residual=residual,
                                    **OPTIONS,
                                )[0]
                            ),
                        )
                    )
                    self.assertEqual(len(set(results)), 1)

    def test_a_sparse_step_is_what_a_cpu_does(self):
        def weights(transport):
            model, trainer = trained(
                transport, OPTIMIZERS["sgd"], 10, method="two_phase", **OPTIONS
            )
            trainer.close()
            return model

        on_gpu = fine(as_ranks(3, weights))
        self.assertEqual(len(self.places), 3)
        with mock.patch.object(
            _exchange, "place_on", lambda device: _place.Cpu()
        ):
            on_cpu = fine(as_ranks(3, weights))
        # Among equally large elements, the choice may differ.
        self.assert_close(on_gpu[0], on_cpu[0], 1e-3)

    def test_training_goes_on_from_a_saved_state(self):
        def work(transport):
            model = perceptron()
            optimizer = OPTIMIZERS["momentum"](model.parameters())
            trainer = exchange.MirrorTrainer(
                model, optimizer, transport=transport, **OPTIONS
            )
            train(model, optimizer, range(5), transport.rank)
            state = trainer.state_dict()
            residuals = {
                name: layer["residual"].clone()
                for name, layer in state["layers"].items()
            }
            train(model, optimizer, range(5, 8), transport.rank)
            trainer.load_state_dict(state)
            again = trainer.state_dict()
            for name, layer in again["layers"].items():
                self.assertTrue(torch.equal(layer["residual"], residuals[name]))
            self.assertTrue(any(map(torch.any, residuals.values())))
            trainer.set_density(0.2)
            train(model, optimizer, range(8, 12), transport.rank)
            trainer.close()
            return weights_hash(model)

        self.assertEqual(len(set(fine(as_ranks(2, work)))), 1)

    def test_a_gradient_that_is_no_number_is_refused(self):
        def work(transport):
            model = perceptron()
            optimizer = OPTIMIZERS["sgd"](model.parameters())
            trainer = exchange.MirrorTrainer(
                model, optimizer, transport=transport, **OPTIONS
            )
            samples, classes = batch(0, transport.rank)
            if transport.rank == 1:
                samples[0, 0] = float("nan")
            loss = torch.nn.functional.cross_entropy(model(samples), classes)
            loss.backward()
            optimizer.step()
            trainer.wait()

        for error in as_ranks(2, work):
            self.assertRegex(str(error), "was infinite or no number on some")

    def test_a_gpu_that_cannot_be_had_is_told_to_all_ranks(self):
        count = itertools.count()

        def place_on(_):
            if next(count) == 1:
                raise ValueError("no GPU of its own")
            return EmulatedGpu()

        def work(transport):
            model = perceptron()
            optimizer = OPTIMIZERS["sgd"](model.parameters())
            exchange.MirrorTrainer(model, optimizer, transport=transport)

        with mock.patch.object(_exchange, "place_on", place_on):
            for error in as_ranks(3, work):
                self.assertRegex(str(error), "no GPU of its own")

    def test_a_gpu_that_has_had_an_error_is_told_and_closed(self):
        def work(transport):
            model = perceptron()
            optimizer = OPTIMIZERS["sgd"](model.parameters())
            trainer = exchange.MirrorTrainer(
                model, optimizer, transport=transport, **OPTIONS
            )
            place = trainer._exchange.place
            if transport.rank == 1:
                place.make_room = mock.Mock(side_effect=RuntimeError("it broke"))
                place.here = mock.Mock(side_effect=RuntimeError("it broke"))
            try:
                trainer.set_density(0.01)
            finally:
                context = trainer._exchange.context
                with contextlib.suppress(Exception):
                    trainer.close()
                with self.assertRaisesRegex(ValueError, "is closed"):
                    context.stats()

        for error in as_ranks(2, work):
            self.assertRegex(str(error), "it broke")

    def test_ranks_on_a_gpu_and_on_the_cpu_are_refused(self):
        count = itertools.count()

        def place_on(_):
            return EmulatedGpu() if next(count) else _place.Cpu()

        def work(transport):
            model = perceptron()
            optimizer = OPTIMIZERS["sgd"](model.parameters())
            exchange.MirrorTrainer(model, optimizer, transport=transport)

        with mock.patch.object(_exchange, "place_on", place_on):
            for error in as_ranks(2, work):
                self.assertRegex(
                    str(error),
                    "rank 1 has its model on (a GPU, rank 0 on the CPU|the "
                    "CPU, rank 0 on a GPU): move",
                )


class OfTorch(unittest.TestCase):
    """Records the calls of _place.Gpu to torch, in order."""

    def setUp(self):
        self.cuda = mock.MagicMock()
        self.cuda.current_stream.return_value.cuda_stream = 77
        for name in ("Stream", "stream", "current_stream", "device",
                     "empty_cache"):
            patch = mock.patch.object(torch.cuda, name, getattr(self.cuda, name))
            patch.start()
            self.addCleanup(patch.stop)
        native = types.ModuleType("penstock.exchange._native_cuda")
        native.open_device = self.cuda.open_device
        patch = mock.patch.dict(
            "sys.modules", {"penstock.exchange._native_cuda": native}
        )
        patch.start()
        self.addCleanup(patch.stop)
        patch = mock.patch.object(
            penstock.exchange, "_native_cuda", native, create=True
        )
        patch.start()
        self.addCleanup(patch.stop)
        self.gpu = _place.place_on(torch.device("cuda:1"))

    def names(self):
        return [call[0] for call in self.cuda.mock_calls]

    def test_the_library_is_told_which_gpu(self):
        self.cuda.open_device.assert_called_once_with(1)
        self.assertEqual(self.names()[:2], ["device", "device().__enter__"])

    def test_a_gradient_is_kept_for_the_stream_that_reads_it(self):
        gradient = mock.Mock()
        self.assertEqual(self.gpu.stream_of(gradient), 77)
        gradient.record_stream.assert_called_once_with(
            self.cuda.current_stream.return_value
        )

    def test_a_step_is_on_its_own_stream_and_waited_for(self):
        for is_wrong in (False, True):
            with self.subTest(is_wrong=is_wrong):
                self.cuda.reset_mock()
                with contextlib.suppress(KeyError), self.gpu.apart():
                    self.cuda.step()
                    if is_wrong:
                        raise KeyError
                self.assertEqual(
                    self.names(),
                    [
                        "stream",
                        "stream().__enter__",
                        "step",
                        "stream().__exit__",
                        "Stream().synchronize",
                    ],
                )

    def test_torch_gives_back_memory_of_that_gpu(self):
        self.cuda.reset_mock()
        self.gpu.make_room()
        self.assertEqual(
            self.names(),
            ["device", "device().__enter__", "empty_cache", "device().__exit__"],
        )
        self.cuda.device.assert_called_once_with(torch.device("cuda:1"))

    def test_what_torch_cannot_do_is_a_refusal(self):
        self.cuda.Stream.side_effect = RuntimeError("no driver of torch's")
        with self.assertRaisesRegex(ValueError, "no driver of torch's"):
            _place.place_on(torch.device("cuda:1"))


class Refused(unittest.TestCase):
    def test_a_gpu_that_is_not_there(self):
        try:
            from penstock.exchange import _native_cuda
        except ImportError:
            self.skipTest("it was built without nvcc")
        with self.assertRaisesRegex(
            ConnectionError, "no GPU 999 to exchange on: "
        ):
            _native_cuda.open_device(999)

    def test_a_library_without_cuda(self):
        name = "penstock.exchange._native_cuda"
        with mock.patch.dict("sys.modules", {name: None}):
            # If it was imported before, the package has it as an attribute.
            vars(penstock.exchange).pop("_native_cuda", None)
            with self.assertRaisesRegex(ValueError, "has no CUDA here"):
                _place.place_on(torch.device("cuda:0"))

    def test_an_mpi_that_allows_no_thread(self):
        layers = [types.SimpleNamespace(device=torch.device("cuda:0"))]
        refused = _exchange.Exchange._take_place(
            types.SimpleNamespace(layers=layers),
            types.SimpleNamespace(allows_thread=False),
        )
        self.assertRegex(refused[0], "called with MPI_THREAD_MULTIPLE")

    def test_two_devices(self):
        parameter = torch.nn.Parameter(torch.zeros(1))
        self.assertEqual(
            _layers._refusal(parameter, torch.device("cuda:1")),
            "is on cpu, and others are on cuda:1: each rank trains on one "
            "device",
        )


def has_gpu():
    if not torch.cuda.is_available():
        return False
    try:
        _place.place_on(torch.device("cuda:0"))
    except ValueError as error:
        print(f"not tested on the GPU: {error}")
        return False
    return True


@unittest.skipUnless(has_gpu(), "there is no GPU, or no CUDA in the library")
class Real(ExchangeCase):
    """The ranks share the GPU."""

    def trained(self, transport, optimizer_of, steps, **options):
        model = perceptron().cuda()
        optimizer = optimizer_of(model.parameters())
        trainer = exchange.MirrorTrainer(
            model, optimizer, transport=transport, timeout_s=20, **options
        )
        for step in range(steps):
            samples, classes = batch(step, getattr(transport, "rank", 0))
            loss = torch.nn.functional.cross_entropy(
                model(samples.cuda()), classes.cuda()
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        trainer.close()
        return model.cpu()

    def test_one_rank(self):
        for name, optimizer_of in OPTIMIZERS.items():
            with self.subTest(optimizer=name):
                plain = perceptron()
                train(plain, optimizer_of(plain.parameters()), range(20))
                model = self.trained("self", optimizer_of, 20)
                self.assert_close(model, plain, 1e-3)

    def test_dense_is_the_mean_of_gradients(self):
        for name, optimizer_of in OPTIMIZERS.items():
            with self.subTest(optimizer=name):
                self.assert_dense_is_the_mean(
                    self.trained, optimizer_of, steps=20, ranks=2, most=1e-3
                )

    def test_weights_are_the_same_on_all_ranks(self):
        for method in ("allgather", "two_phase"):
            for residual in ("float32", "bfloat16", "host"):
                for name in ("sgd", "adam"):
                    with self.subTest(
                        method=method, residual=residual, optimizer=name
                    ):
                        results = fine(
                            as_ranks(
                                2,
                                lambda transport: weights_hash(
                                    self.trained(
                                        transport,
                                        OPTIMIZERS[name],
                                        100,
                                        method=method,
                                        residual=residual,
                                        **OPTIONS,
                                    )
                                ),
                            )
                        )
                        self.assertEqual(len(set(results)), 1)


if __name__ == "__main__":
    unittest.main()
