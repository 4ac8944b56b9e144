"""What counts as state of a dataset: attributes that change, at any depth, and
random generators; what does not: files opened late."""

import functools
import itertools
import pathlib
import random
import unittest

from penstock._exact_state import Look

try:
    import torch
except ImportError:
    torch = None
try:
    import numpy
except ImportError:
    numpy = None


class Part:
    def __init__(self):
        self.count = 0


class Slotted:
    __slots__ = ("count",)

    def __init__(self):
        self.count = 0


class Pickled(Part):
    """A pickle empties it."""

    def __init__(self):
        super().__init__()
        self.cache = {}

    def __getstate__(self):
        raise AssertionError("called")


class Data:
    def __init__(self, **parts):
        self.steady = ["a", 1, None, pathlib.Path("/data"), {1: (2.5, b"3")}]
        vars(self).update(parts)


def seen(before, change):
    """Returns the name of what changed."""
    look = Look(before, None)
    change(before)
    return Look(before, None).changed(look)


class ChangeTest(unittest.TestCase):
    def test_a_change_at_any_depth_is_seen(self):
        part = Part()
        kinds = {
            "list": [1],
            "dict": {},
            "set": {1},
            "object": part,
            "in a list": [[part]],
            "slots": Slotted(),
            "iterator": itertools.count(),
            "deep": Data(inner=Data(part=part)),
            "function": functools.partial(max, part),
            "closure": lambda: part,
            "method": part.__init__,
        }
        changes = {
            "list": lambda data: data.part.append(1),
            "dict": lambda data: data.part.update(a=1),
            "set": lambda data: data.part.add(2),
            "slots": lambda data: setattr(data.part, "count", 5),
            "iterator": lambda data: next(data.part),
        }
        for name, kind in kinds.items():
            with self.subTest(name):
                data = Data(part=kind)
                change = changes.get(
                    name, lambda _: setattr(part, "count", part.count + 1)
                )
                place = seen(data, change)
                self.assertIn(place, ("Data.part", "Part.count"))
                self.assertIsNone(seen(data, lambda _: None))

    def test_the_content_of_a_collection_s_subclass_is_seen(self):
        for kind, change in (
            (type("Table", (dict,), {}), lambda part: part.update(a=1)),
            (type("Names", (list,), {}), lambda part: part.append(1)),
            (type("Marks", (set,), {}), lambda part: part.add(1)),
        ):
            with self.subTest(kind):
                data = Data(part=kind())
                place = seen(data, lambda data: change(data.part))
                self.assertEqual(place, "Data.part")
                self.assertIsNone(seen(data, lambda _: None))

    def test_collections_that_contain_themselves_are_seen(self):
        class Attributes(dict):
            def __init__(self):
                self.__dict__ = self

        class Node(list):
            parent = None

        attributes, root, leaf = Attributes(), Node(), Node()
        root.append(leaf)
        leaf.parent = root
        for part, change in (
            (attributes, lambda: attributes.update(count=1)),
            (root, lambda: leaf.append(1)),
        ):
            data = Data(part=part)
            self.assertIsNone(seen(data, lambda _: None))
            self.assertEqual(seen(data, lambda _: change()), "Data.part")

    def test_the_keys_of_a_large_dict_are_seen(self):
        data = Data(part=dict.fromkeys(range(10**5), True))

        def replace_one(data):
            del data.part[50_000]
            data.part[-1] = True

        self.assertIsNone(seen(data, lambda _: None))
        self.assertEqual(seen(data, replace_one), "Data.part")

    def test_no_method_of_a_collection_runs(self):
        called = []  # a look takes what fails for unseen
        names = "__iter__", "__len__", "__reversed__", "__getitem__", "items"
        for base, part in (
            (list, range(10**5)),
            (tuple, range(10**5)),
            (set, range(10**5)),
            (frozenset, range(10**5)),
            (dict, [(number, number) for number in range(10**5)]),
        ):
            methods = {
                name: lambda *_, name=name: called.append(name)
                for name in (*names, "values")
            }
            kind = type("Own", (base,), methods)
            for inside in (kind(part), [kind(part)]):
                self.assertIsNone(seen(Data(part=inside), lambda _: None))
            self.assertEqual(called, [])

    def test_changes_of_arrays_are_seen(self):
        if numpy is None or torch is None:
            self.skipTest("NumPy or PyTorch is not installed")
        for array in (numpy.zeros(10), torch.zeros(10), torch.zeros(2, 10**6)):
            data = Data(array=array)
            place = seen(data, lambda data: data.array.__setitem__(0, 1))
            self.assertEqual(place, "Data.array")

    def test_a_first_value_delays_and_is_no_change(self):
        data = Data(file=None)
        look = Look(data, None)
        data.file = open("/dev/null")  # noqa: SIM115
        self.addCleanup(data.file.close)
        data.other = 1
        later = Look(data, None)
        self.assertIsNone(later.changed(look))
        self.assertFalse(later.is_settled(look))
        self.assertTrue(Look(data, None).is_settled(later))

    def test_an_object_s_own_pickle_is_not_called(self):
        """It may change the object."""
        data = Data(part=Pickled())
        self.assertEqual(seen(data, lambda data: data.part.cache.update(a=1)),
                         "Pickled.cache")
        place = seen(data, lambda data: setattr(data.part, "count", 5))
        self.assertEqual(place, "Pickled.count")

    def test_a_value_that_goes_is_a_change(self):
        for change in (lambda data: setattr(data, "part", None),
                       lambda data: delattr(data, "part")):
            self.assertEqual(seen(Data(part=1), change), "Data.part")

    def test_state_of_collate_fn_is_seen(self):
        part = Part()
        look = Look(None, part)
        part.count = 1
        self.assertEqual(Look(None, part).changed(look), "Part.count")

    def test_large_datasets_are_looked_at_in_part(self):
        data = Data(paths=[f"{i}" for i in range(10**6)], count=0,
                    parts=[Part() for _ in range(10**5)])
        self.assertEqual(
            seen(data, lambda data: setattr(data, "count", 1)), "Data.count"
        )
        self.assertEqual(
            seen(data, lambda data: data.paths.__setitem__(-1, "other")),
            "Data.paths",
        )

    def test_objects_behind_many_others_are_seen(self):
        part = Part()
        data = Data(parts=[Part() for _ in range(10**5)], part=part)
        self.assertEqual(
            seen(data, lambda _: setattr(part, "count", 1)), "Part.count"
        )


class GeneratorTest(unittest.TestCase):
    def test_generators_are_found_at_any_depth(self):
        generators = [random.Random(1), (number for number in range(3))]
        if torch:
            generators.append(torch.Generator())
        if numpy:
            generators += [
                numpy.random.default_rng(1),
                numpy.random.RandomState(1),
                numpy.random.MT19937(1),
            ]
        for generator in generators:
            bound = getattr(generator, "random", None)
            for part in (
                generator,
                [{"a": generator}],
                Data(inner=generator),
                lambda own=generator: own,
                lambda: generator,
                functools.partial(print, generator),
                *([bound] if bound else []),
            ):
                with self.subTest(generator=generator, part=part):
                    place = Look(Data(part=part), None).generator
                    self.assertIn(place, ("Data.part", "Data.inner"))

    def test_a_dataset_without_generator_has_none(self):
        self.assertIsNone(Look(Data(), lambda: 0).generator)


if __name__ == "__main__":
    unittest.main()
