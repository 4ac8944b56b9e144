"""penstock.loader.Loader: the content of its batches, and the owner of their
memory."""

import ctypes
import gc
import os
import unittest
from pathlib import Path

import numpy
from loader_case import SIDE, LoaderCase, penstock_loader, write_pictures


def address(array):
    return array.__array_interface__["data"][0]


def allocated_bytes():
    """This process's anonymous and shared memory. Its part of the libraries'
    pages is not counted: it grows when another process that has them ends."""
    kibibytes = 0
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith(("Pss_Anon:", "Pss_Shmem:")):
            kibibytes += int(line.split()[1])
    return kibibytes * 1024


class OptionsOfC(ctypes.Structure):
    """struct penstock_loader_options."""

    _fields_ = (
        [("size", ctypes.c_size_t)]
        + [("paths", ctypes.POINTER(ctypes.c_char_p))]
        + [("path_count", ctypes.c_size_t)]
        + [
            (name, ctypes.c_uint64)
            for name in (
                "record_bytes record_label_bytes record_header_bytes "
                "batch_samples crop_side seed ranks rank threads ring_batches "
                "memory_bytes"
            ).split()
        ]
        + [
            (name, ctypes.c_uint32)
            for name in "sequential drop_tail broken_fatal augment".split()
        ]
    )


class BatchOfC(ctypes.Structure):
    """struct penstock_loader_batch."""

    _fields_ = [
        ("data", ctypes.POINTER(ctypes.c_float)),
        ("labels", ctypes.POINTER(ctypes.c_int64)),
        ("indices", ctypes.POINTER(ctypes.c_uint64)),
        ("size", ctypes.c_size_t),
        ("sample_floats", ctypes.c_size_t),
        ("number", ctypes.c_uint64),
        ("ends_epoch", ctypes.c_int32),
    ]


def batches_of_c(folder, count, **options):
    """The first batches of the C interface: bytes, labels."""
    library = ctypes.CDLL(os.environ["PENSTOCK_LOADER_LIBRARY"])
    paths = (ctypes.c_char_p * 1)(os.fsencode(folder))
    given = OptionsOfC(
        ctypes.sizeof(OptionsOfC), paths, 1, batch_samples=4, **options
    )
    loader, batch, out = ctypes.c_void_p(), BatchOfC(), []
    assert library.penstock_loader_open(
        ctypes.byref(given), ctypes.byref(loader)
    ) == 0
    for _ in range(count):
        assert library.penstock_loader_next(
            loader, ctypes.c_uint64(10**10), ctypes.byref(batch)
        ) == 0
        floats = batch.size * batch.sample_floats
        out.append(
            (ctypes.string_at(batch.data, 4 * floats),
             batch.labels[: batch.size])
        )
        assert library.penstock_loader_release(loader, ctypes.byref(batch)) == 0
    library.penstock_loader_close(loader)
    return out


class BatchTest(LoaderCase):
    def test_records_come_whole_with_labels_and_numbers(self):
        loader = self.load(self.records(), seed=3)
        self.assertEqual(len(loader), 7)
        seen = []
        for images, labels in loader:
            self.assertEqual(images.shape, (len(labels), 2))
            self.assertTrue((images[:, 0] == labels - 100).all())
            self.assertTrue((images[:, 1] == 7).all())
            seen += labels.tolist()
        self.assertEqual(len(seen), 100)
        self.assertEqual(set(seen), {100 + i for i in range(100)})
        self.assertNotEqual(seen, sorted(seen))

    def test_without_shuffling_the_order_is_the_datasets(self):
        loader = self.load(self.records(), shuffle=False)
        batch = next(iter(loader))
        self.assertEqual(batch.indices.tolist(), list(range(16)))
        self.assertIs(batch[0], batch.images)
        self.assertIs(batch[1], batch.labels)
        self.assertEqual(
            (batch.images.dtype, batch.labels.dtype, batch.indices.dtype),
            (numpy.float32, numpy.int64, numpy.int64),
        )

    def test_pictures_are_planes_and_the_bytes_those_of_c(self):
        dataset = self.pictures()
        self.assertEqual((len(dataset), dataset.tensor_bytes), (12, 0))
        self.assertIn("001.ppm", dataset.name(6))
        self.assertEqual(dataset.label(6), 1)
        self.assertEqual(dataset.path, self.pictures_folder)
        expected = batches_of_c(
            self.pictures_folder, 6, crop_side=SIDE, seed=11
        )
        for threads in (1, 3):
            loader = self.load(
                dataset, 4, crop=SIDE, seed=11, threads=threads
            )
            got = []
            for _ in range(2):
                for images, labels in loader:
                    self.assertEqual(images.shape, (4, 3, SIDE, SIDE))
                    got.append((images.tobytes(), labels.tolist()))
            self.assertEqual(got, expected)

    def test_a_centred_square_depends_on_the_picture_alone(self):
        dataset = self.pictures()
        got = {}
        for seed in (1, 2):
            loader = self.load(
                dataset, 4, crop=35, augment="centre", seed=seed
            )
            for _ in range(2):
                for batch in loader:
                    for image, index in zip(batch.images, batch.indices):
                        got.setdefault(int(index), set()).add(image.tobytes())
        self.assertEqual([len(got[i]) for i in range(12)], [1] * 12)
        # 35 of 40 pixels: each output is the mean of the four pixels around it.
        file = Path(dataset.name(0)).read_bytes()
        pixels = numpy.frombuffer(file[-3 * 40 * 40:], numpy.uint8)
        pixels = pixels.reshape(40, 40, 3).astype(float)
        pixels = (pixels[2:-2, :] + pixels[3:-1, :])[:35] / 2
        pixels = (pixels[:, 2:-2] + pixels[:, 3:-1])[:, :35] / 2
        mean, deviation = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
        expected = ((pixels / 255 - mean) / deviation).transpose(2, 0, 1)
        image = numpy.frombuffer(got[0].pop(), numpy.float32)
        difference = abs(image.reshape(3, 35, 35) - expected)
        self.assertLess(difference.max(), 5 / 64 / 255 / 0.224)
        centred = batches_of_c(
            self.pictures_folder, 3, crop_side=35, sequential=1, augment=1
        )
        self.assertEqual(centred[0][0][: image.nbytes], image.tobytes())

    def test_drop_last_leaves_out_the_short_batch(self):
        loader = self.load(self.records(), drop_last=True)
        self.assertEqual(len(loader), 6)
        for _ in range(2):
            self.assertEqual([len(labels) for _, labels in loader], [16] * 6)

    def test_an_epoch_shorter_than_a_batch(self):
        dataset = self.records(5)
        self.assertEqual(len(list(self.load(dataset))), 1)
        self.assertEqual(list(self.load(dataset, drop_last=True)), [])


class MemoryTest(LoaderCase):
    def test_batches_are_the_rings_memory(self):
        loader = self.load(self.records(), 10, threads=1)
        addresses = set()
        for _ in range(50):
            for images, _ in loader:
                addresses.add(address(images))
                images *= 2  # the user's for its lifetime
        self.assertLessEqual(len(addresses), 4)

    def test_memory_does_not_grow_over_50_epochs(self):
        loader = self.load(self.pictures(), 4, crop=224, threads=2)
        for epoch in range(55):
            if epoch == 5:
                before = allocated_bytes()
            for images, _ in loader:
                images[0, 0, 0, 0] = 1
        self.assertLess(allocated_bytes() - before, 2 << 20)

    def test_a_view_keeps_its_batch_and_the_last_one_gives_it_back(self):
        loader = self.load(self.records(), 10, shuffle=False)
        epoch = iter(loader)
        view = next(epoch).images[3:4, :1]
        labels = [next(epoch).labels for _ in range(3)]
        self.assertEqual(view.tolist(), [[3]])
        with self.assertRaisesRegex(BufferError, "ring=4.*clone"):
            next(epoch)
        self.assertEqual(view.tolist(), [[3]])
        del view
        self.assertEqual(next(epoch).indices.tolist(), list(range(40, 50)))
        self.assertEqual(labels[0].tolist(), list(range(110, 120)))

    def test_batches_outlive_the_loader(self):
        loader = penstock_loader.Loader(self.records(), 10, shuffle=False)
        batch = next(iter(loader))
        loader.close()
        del loader
        self.assertEqual(batch.images[:, 0].tolist(), list(range(10)))

    def test_memory_is_bounded(self):
        dataset = self.pictures()
        self.load(dataset, 4, memory=16 << 20, threads=1)
        with self.assertRaisesRegex(OSError, "memory: .* hold no two batches"):
            self.load(dataset, 64, memory=16 << 20, threads=1)


class PinnedTest(LoaderCase):
    """With a fake CUDA library."""

    def setUp(self):
        super().setUp()
        cuda = ctypes.CDLL(os.environ["PENSTOCK_FAKE_CUDA"])
        self.registered = ctypes.c_int.in_dll(cuda, "fake_cuda_registered")
        self.refuses = ctypes.c_int.in_dll(cuda, "fake_cuda_refuses")
        context = ctypes.c_void_p.in_dll(cuda, "fake_cuda_context")
        context.value = 1
        self.addCleanup(setattr, context, "value", None)

    def test_batches_are_pinned_when_it_is_asked_for(self):
        batch = next(iter(self.load(self.records())))
        self.assertEqual((batch.is_pinned, self.registered.value), (False, 0))
        loader = penstock_loader.Loader(self.records(), pinned=True)
        batch = next(iter(loader))
        self.assertEqual((batch.is_pinned, self.registered.value), (True, 1))
        loader.close()
        del loader
        gc.collect()
        self.assertEqual(self.registered.value, 1)
        del batch
        self.assertEqual(self.registered.value, 0)

    def test_a_refusal_is_logged_once(self):
        self.refuses.value = 801
        self.addCleanup(setattr, self.refuses, "value", 0)
        loader = self.load(self.records(), pinned=True)
        with self.assertLogs("penstock.loader", "WARNING") as logs:
            self.assertFalse(any(batch.is_pinned for batch in loader))
        self.assertEqual(len(logs.output), 1)
        self.assertRegex(logs.output[0], "pageable: .*801")


class ErrorTest(LoaderCase):
    def broken_pictures(self):
        self.pictures()
        path = Path(self.pictures_folder) / "a" / "999.ppm"
        path.write_bytes(b"no picture")
        return penstock_loader.open_dataset(self.pictures_folder)

    def test_ranks_have_as_many_batches_whatever_is_broken(self):
        dataset = self.broken_pictures()
        for i in range(6):
            Path(dataset.name(i)).write_bytes(b"P6 broken")
        sizes = []
        for rank in range(2):
            loader = self.load(
                dataset, 2, crop=SIDE, shuffle=False, rank=rank, ranks=2
            )
            with self.assertLogs("penstock.loader"):
                batches = list(loader)
            self.assertEqual(len(batches), len(loader))
            for images, labels in batches:
                self.assertEqual(images.shape, (len(labels), 3, SIDE, SIDE))
            sizes.append([len(labels) for _, labels in batches])
        # Sample 6 is broken anyway; rank 1 ends with sample 0.
        self.assertEqual(sizes, [[0, 0, 2, 1], [0, 1, 2, 0]])

    def test_broken_samples_are_logged_and_left_out(self):
        loader = self.load(self.broken_pictures(), 13, crop=SIDE)
        with self.assertLogs("penstock.loader", "WARNING") as logs:
            for _ in range(2):
                self.assertEqual([len(labels) for _, labels in loader], [12])
        self.assertEqual(len(logs.output), 1)  # not again in the next epoch
        self.assertRegex(logs.output[0], "skipped: .*999.ppm")
        self.assertGreaterEqual(loader.counters()["broken"], 2)

    def test_or_end_the_epoch(self):
        loader = self.load(
            self.broken_pictures(), 13, crop=SIDE, broken="fatal"
        )
        for _ in range(2):
            with self.assertRaisesRegex(ValueError, "999.ppm"):
                with self.assertLogs("penstock.loader"):
                    list(loader)

    def test_a_vanished_file_is_named(self):
        dataset = self.pictures()
        (Path(self.pictures_folder) / "b" / "001.ppm").unlink()
        loader = self.load(dataset, 13, crop=SIDE, broken="fatal")
        with self.assertRaisesRegex(FileNotFoundError, "001.ppm"):
            with self.assertLogs("penstock.loader"):
                list(loader)

    def test_names_that_are_no_text(self):
        folder = os.path.join(os.fsencode(self.folder), b"\xff")
        os.mkdir(folder)
        write_pictures(os.fsdecode(folder), 2)
        Path(os.fsdecode(folder + b"/\xfe.ppm")).write_bytes(b"no picture")
        for path in (folder, os.fsdecode(folder), Path(os.fsdecode(folder))):
            dataset = penstock_loader.open_dataset(path)
            self.assertEqual(os.fsencode(dataset.path), folder)
        self.assertIn("\udcfe.ppm", dataset.name(2))
        loader = self.load([folder], 3, crop=SIDE)
        with self.assertLogs("penstock.loader", "WARNING") as logs:
            self.assertEqual([len(labels) for _, labels in loader], [2])
        self.assertIn("\udcfe.ppm", logs.output[0])
        loader = self.load(folder, 3, crop=SIDE, broken="fatal")
        with self.assertRaisesRegex(ValueError, "\udcfe.ppm"):
            with self.assertLogs("penstock.loader"):
                list(loader)
        with self.assertRaisesRegex(FileNotFoundError, "\udcfd"):
            penstock_loader.open_dataset(b"/nowhere/\xfd")

    def test_data_that_cannot_be_opened(self):
        with self.assertRaisesRegex(FileNotFoundError, "/nowhere"):
            penstock_loader.Loader("/nowhere")
        with self.assertRaisesRegex(ValueError, "records' size"):
            penstock_loader.open_dataset(__file__)
        with self.assertRaises(IndexError):
            self.records().name(100)

    def test_options_out_of_range(self):
        dataset = self.records()
        for options, message in (
            ({"batch_size": 0}, "batch: allowed: 1 to 65536"),
            ({"batch_size": -1}, "batch_size=-1"),
            ({"crop": 0}, "crop: allowed"),
            ({"seed": 1 << 64}, "seed="),
            ({"broken": "no"}, "broken='no'"),
            ({"augment": "center"}, "augment='center'"),
            ({"threads": 0}, "threads=0"),
            ({"memory": 0}, "memory=0"),
            ({"ring": 0}, "ring: allowed"),
            ({"rank": 0}, "both of them"),
            ({"rank": 2, "ranks": 2}, "rank"),
        ):
            with self.subTest(options), self.assertRaisesRegex(
                ValueError, message
            ):
                penstock_loader.Loader(dataset, **options)


if __name__ == "__main__":
    unittest.main()
