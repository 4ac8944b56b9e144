"""The reports of penstock.watch() on batches during an analysis."""

import statistics
import unittest

from analysis_case import (COMMON, FILE_BYTES, TORCH, FilesCase, grown,
                           needs_torch, samples_after_first)


def all_of(messages, name):
    return [value for message in messages for value in message[name]]


@needs_torch
class MeasuresTest(FilesCase):
    def test_waits_are_those_of_the_loop(self):
        script = TORCH + """
class Slow(Files):
    def __getitem__(self, index):
        time.sleep(0.005)
        return torch.tensor([index, 0])
for batch in penstock.watch(DataLoader(Slow(), 4)):
    time.sleep(0.01)
"""
        rank = self.analyze(script).ranks[0]
        for train in (True, False):
            _, messages = rank.run(1, "memory", 40, train=train,
                                   subset_samples=16)
            waits = all_of(messages, "wait_ns")
            self.assertGreaterEqual(min(waits), 20e6)
            self.assertLess(statistics.median(waits), 30e6)
        _, messages = rank.run(2, "replay", 40, train=True)
        waits = all_of(messages, "wait_ns")
        self.assertLess(statistics.median(waits), 1e6)

    def test_cpu_time_is_the_workers_too(self):
        script = TORCH + """
class Busy(Files):
    def __getitem__(self, index):
        end = time.thread_time() + 0.005
        while time.thread_time() < end:
            pass
        return torch.tensor([index, 0])
for batch in penstock.watch(DataLoader(Busy(), 4, num_workers={workers})):
    pass
"""
        for workers in (0, 2):
            rank = self.analyze(script.format(workers=workers)).ranks[0]
            _, messages = rank.run(1, "memory", 200, subset_samples=16)
            # Up to six batches more or less are in progress at each end.
            samples = samples_after_first(messages)
            cpu_s = grown(messages, "cpu_s")
            self.assertGreater(cpu_s, 0.005 * (samples - 24))
            self.assertLess(cpu_s, 0.006 * (samples + 24))

    def test_samples_of_batches_of_many_sizes(self):
        script = TORCH + """
own = [[5, 1], [7], [9, 2, 3, 4, 6]]
for batch in penstock.watch(DataLoader(Files(), batch_sampler=own)):
    pass
"""
        rank = self.analyze(script).ranks[0]
        _, messages = rank.run(1, "memory", 100, subset_samples=8)
        told = all_of(messages, "samples")
        self.assertIn(told[:3], ([2, 1, 5], [1, 5, 2], [5, 2, 1]))
        self.assertEqual(told[3:], told[:-3])

    def test_bytes_are_the_loaders_and_no_batch_on_its_way(self):
        """Batches that are not tensors come through pipes."""
        script = TORCH + """
class Decoded(Files):
    def __getitem__(self, index):
        with open(os.path.join(DATA, self.names[index]), "rb") as file:
            return file.read() * 4
def collate(samples):
    return {"index": [0] * len(samples), "pictures": samples}
for batch in penstock.watch(DataLoader(
        Decoded(), 4, num_workers=1, collate_fn=collate)):
    pass
"""
        rank = self.analyze(script).ranks[0]
        _, messages = rank.run(1, "memory", 200, subset_samples=16)
        per_sample = (grown(messages, "consumed_bytes")
                      / samples_after_first(messages))
        self.assertLess(per_sample, 1.3 * FILE_BYTES)
        self.assertGreater(per_sample, 0.7 * FILE_BYTES)

    def test_a_replay_loads_nothing(self):
        for workers in (0, 2):
            script = TORCH + f"""
for batch in penstock.watch(DataLoader(Files(), 4, num_workers={workers})):
    time.sleep(0.001)
"""
            rank = self.analyze(script).ranks[0]
            rank.run(1, "cold", 40)
            for train in (True, False):
                _, messages = rank.run(2, "replay", 400, train=train)
                self.assert_from_memory(messages)
                # Except for the process's own reads.
                self.assertLess(grown(messages, "consumed_bytes"), FILE_BYTES)


class LoopTest(FilesCase):
    def test_batches_that_are_thrown_away_do_not_reach_the_loop(self):
        script = COMMON + """
for batch in penstock.watch([[1, 2]] * 10):
    emit(batch=batch)
"""
        analyze = self.analyze(script)
        rank = analyze.ranks[0]
        for number, data in enumerate(("replay", "memory", "cold"), 1):
            rank.run(number, data, 1000, subset_samples=4)
        self.assertEqual(rank.hold(), 0)
        (output, errors), code = analyze.end()[0]
        self.assertEqual((output, errors, code), ("", "", 0))

    def test_a_loop_may_take_a_batch_to_pieces(self):
        script = COMMON + """
class Batches:
    def __iter__(self):
        for i in range(10):
            yield {"x": [i], "labels": [1]} if DICTS else [[i], [1]]
for batch in penstock.watch(Batches()):
    batch.pop("labels" if DICTS else 1)
    assert len(batch) == 1
"""
        for dicts in (True, False):
            analyze = self.analyze(f"DICTS = {dicts}\n" + script)
            analyze.ranks[0].run(1, "replay", 50, train=True)
            self.assertEqual(analyze.end()[0], (("", ""), 0))



if __name__ == "__main__":
    unittest.main()
