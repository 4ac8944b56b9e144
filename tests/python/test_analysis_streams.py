"""Analysis mode of penstock.watch(): streams, and iterables of any kind."""

import unittest

from analysis_case import COMMON, TORCH, FilesCase, needs_torch


@needs_torch
class StreamsTest(FilesCase):
    STREAM = TORCH + """
class Stream(IterableDataset):
    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        names = sorted(os.listdir(DATA))
        for name in names[info.id::info.num_workers] if info else names:
            with open(os.path.join(DATA, name), "rb") as file:
                yield len(file.read())
for batch in penstock.watch(DataLoader(Stream(), 4, num_workers={workers})):
    pass
"""

    def test_streams_begin_anew(self):
        for workers in (0, 2):
            with self.subTest(workers=workers):
                analyze = self.analyze(self.STREAM.format(workers=workers))
                rank = analyze.ranks[0]
                self.assertIsNone(rank.hello["dataset_samples"])
                for number, data in enumerate(
                        ("memory", "cold", "memory", "cold"), 1):
                    _, messages = rank.run(number, data, 200,
                                           subset_samples=32)
                    if data == "memory":
                        self.assert_from_memory(messages)
                    elif self.drops:
                        self.assert_cold(messages)
                self.assertEqual(analyze.end()[0][1], 0)


class IterablesTest(FilesCase):
    """Without torch."""

    def test_any_iterable_begins_anew(self):
        script = COMMON + """
class Loader:
    batch_size = 4
    def __iter__(self):
        names = sorted(os.listdir(DATA))
        for first in range(0, len(names), 4):
            yield [open(os.path.join(DATA, name), "rb").read()
                   for name in names[first:first + 4]]
for batch in penstock.watch(Loader()):
    pass
"""
        rank = self.analyze(script).ranks[0]
        self.assertEqual(rank.hello["batch_samples"], 4)
        self.assertIsNone(rank.hello["workers"])
        for number, data in enumerate(("memory", "cold", "memory"), 1):
            _, messages = rank.run(number, data, 200, subset_samples=16)
            if data == "memory":
                self.assert_from_memory(messages)
            elif self.drops:
                self.assert_cold(messages)

    def test_an_iterator_is_replayed_only(self):
        script = COMMON + """
for batch in penstock.watch(iter([[i] * 3 for i in range(100_000)])):
    time.sleep(0.001)
"""
        rank = self.analyze(script).ranks[0]
        self.assertEqual(rank.hello["can"]["memory"], False)
        self.assertEqual(rank.hello["can"]["cold"], "")
        self.assertIn("only once", rank.hello["can"]["why"])
        rank.run(1, "replay", 60, train=True)

    @needs_torch
    def test_workers_that_cannot_be_told_what_to_load_are_replayed_only(self):
        script = TORCH + """
class Own(DataLoader):
    def _get_iterator(self):
        return super()._get_iterator()
for batch in penstock.watch(Own(Files(), 4, num_workers=1)):
    pass
"""
        rank = self.analyze(script).ranks[0]
        can = rank.hello["can"]
        self.assertEqual((can["memory"], can["cold"]), (False, ""))
        self.assertRegex(can["why"], "Own has a _get_iterator of its own")
        rank.run(1, "replay", 60, train=True)

    @needs_torch
    def test_a_loader_may_change_its_batches(self):
        script = TORCH + """
class Own(DataLoader):
    def __iter__(self):
        for batch in super().__iter__():
            yield ("changed", batch)
for changed, batch in penstock.watch(Own(Files(), 4, num_workers=1)):
    assert changed == "changed" and len(batch) == 4
"""
        rank = self.analyze(script).ranks[0]
        self.assertEqual(rank.hello["can"]["memory"], True)
        rank.run(1, "memory", 60, train=True, subset_samples=8)

    def test_fast_steps_are_told_in_short_lines(self):
        script = COMMON + """
for batch in penstock.watch([[1, 2]] * 10):
    pass
"""
        rank = self.analyze(script).ranks[0]
        _, messages = rank.run(1, "replay", 20_000)
        self.assertLessEqual(max(len(m["end_ns"]) for m in messages), 1000)

    def test_a_loop_that_begins_again_goes_on_with_the_analysis(self):
        script = COMMON + """
loader, other = [[1, 2]] * 10, [[3]] * 4
for epoch in range(3):
    for step, batch in zip(range(5), penstock.watch(loader)):
        pass
    assert len(list(penstock.watch(other))) == 4
emit(done=True)
"""
        analyze = self.analyze(script)
        rank = analyze.ranks[0]
        rank.start(1, "memory", train=True, subset_samples=4)
        rank.await_ready(1)
        self.assertIsNone(self.last_message(rank))
        (output, _), code = analyze.outcomes()[0]
        self.assertEqual((output, code), ('{"done": true}\n', 0))

    @staticmethod
    def last_message(rank):
        while (message := rank.receive()) is not None:
            pass
        return message

if __name__ == "__main__":
    unittest.main()
