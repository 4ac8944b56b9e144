"""penstock.SharedLoader: jobs, as processes, that prepare batches together."""

import os
import subprocess
import sys
import unittest

import penstock
from loader_case import LoaderCase, numbers, penstock_loader

# Prints its batches of two epochs. With the argument "steps" it waits for an
# input line after each batch.
JOB = """
import sys
import penstock
from penstock.loader import open_dataset
data = open_dataset(sys.argv[1], record_bytes=3, label_bytes=1)
with penstock.SharedLoader(data, 10, share=sys.argv[2], jobs=2) as loader:
    for epoch in range(2):
        for batch in loader:
            print(*batch.indices, flush=True)
            if sys.argv[3] == "steps":
                sys.stdin.readline()
    print("prepared", loader.counters()["prepared"],
          loader.share_counters()["used_batches"], loader.epoch, flush=True)
"""


class ShareTest(LoaderCase):
    def setUp(self):
        super().setUp()
        self.share = f"test.{os.getpid()}.{self._testMethodName}"

    def join(self, dataset, batch_size=10, **options):
        loader = penstock.SharedLoader(
            dataset, batch_size, share=self.share, **options
        )
        self.addCleanup(loader.close)
        return loader

    def job(self, how="runs"):
        self.records()
        job = subprocess.Popen(
            [sys.executable, "-c", JOB, f"{self.folder}/records100",
             self.share, how],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )

        def end():
            job.kill()
            job.communicate()

        self.addCleanup(end)
        return job

    def test_epochs_are_those_of_a_loader(self):
        alone = self.load(self.records(), 10, seed=3, ring=40)
        shared = self.join(self.records(), seed=3)
        self.assertIs(penstock.SharedLoader, penstock_loader.SharedLoader)
        self.assertEqual(len(shared), 10)
        for _ in range(2):
            for own, batch in zip(alone, shared, strict=True):
                self.assertEqual(own.images.tolist(), batch.images.tolist())
                self.assertEqual(own.labels.tolist(), batch.labels.tolist())
                self.assertEqual(own.indices.tolist(), batch.indices.tolist())

    def test_images_stay_as_they_are(self):
        kept = list(self.join(self.records(), window=2, shuffle=False))
        images = [batch.images[:, 0].tolist() for batch in kept]
        again = self.load(self.records(), 10, shuffle=False, ring=40)
        self.assertEqual(
            images, [batch.images[:, 0].tolist() for batch in again]
        )

    def test_an_epoch_that_was_left_is_passed_over(self):
        shared = self.join(self.records(), seed=5)
        left = iter(shared)
        next(left)
        alone = self.load(self.records(), 10, seed=5, ring=40)
        numbers(alone)
        self.assertEqual(numbers(shared), numbers(alone))
        with self.assertRaisesRegex(RuntimeError, "iterated over anew"):
            next(left)

    def test_two_processes_prepare_each_sample_once(self):
        jobs = [self.job(), self.job()]
        lines = [job.communicate()[0].splitlines() for job in jobs]
        self.assertEqual([job.returncode for job in jobs], [0, 0])
        self.assertEqual(lines[0][:-1], lines[1][:-1])
        for epoch in lines[0][:10], lines[0][10:20]:
            samples = sorted(int(n) for line in epoch for n in line.split())
            self.assertEqual(samples, list(range(100)))
        # Each job used all batches, whichever job prepared them.
        self.assertEqual([job[-1].split()[2:] for job in lines],
                         [["20", "2"]] * 2)
        prepared = sum(int(job[-1].split()[1]) for job in lines)
        # Before the last epoch's end they may start with the next one.
        self.assertGreaterEqual(prepared, 200)
        self.assertLessEqual(prepared, 200 + 8 * 10)

    def test_who_comes_later_is_told_its_epoch(self):
        first = self.join(self.records(), seed=3)
        self.assertEqual(first.epoch, 0)
        begun = iter(first)
        next(begun)
        later = self.join(self.records(), seed=3)
        self.assertGreater(later.epoch, 0)
        self.assertEqual(len(numbers(begun)), 9)
        while first.epoch < later.epoch:
            numbers(first)
        alone = self.load(self.records(), 10, seed=3, ring=40)
        while alone.epoch < later.epoch:
            numbers(alone)
        same = numbers(alone)
        self.assertEqual(
            [[batch.indices.tolist() for batch in pair]
             for pair in zip(first, later, strict=True)],
            [[one, one] for one in same],
        )
        self.assertEqual(later.epoch, alone.epoch)

    def test_what_it_had_of_the_share_is_counted(self):
        with self.join(self.records()) as shared:
            numbers(shared)
            self.assertEqual(
                shared.share_counters(),
                {"used_batches": 10, "lost_claims": 0, "times_out": 0,
                 "alone_batches": 0},
            )
        for use in (shared.share_counters, lambda: shared.epoch):
            with self.assertRaisesRegex(ValueError, "closed"):
                use()

    def test_one_that_is_killed_holds_nobody_up(self):
        killed, other = self.job("steps"), self.job()
        killed.stdout.readline()
        killed.kill()
        killed.wait()
        lines = other.communicate()[0].splitlines()
        self.assertEqual(other.returncode, 0)
        for epoch in lines[:10], lines[10:20]:
            samples = sorted(int(n) for line in epoch for n in line.split())
            self.assertEqual(samples, list(range(100)))

    def test_other_data_under_the_name_are_refused(self):
        self.join(self.records())
        with self.assertRaisesRegex(ValueError, f"{self.share}.*50 samples"):
            self.join(self.records(50))
        with self.assertRaisesRegex(ValueError, "seed 0.*seed 1|seed 1.*seed 0"):
            self.join(self.records(), seed=1)

    def test_values_that_are_not_allowed(self):
        for options, message in (
            ({"window": 1}, "window=1: allowed: 2 to 512"),
            ({"jobs": 65}, "allowed: 1 to 64"),
            ({"augment": "none"}, "augment='none'"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                self.join(self.records(), **options)
        with self.assertRaisesRegex(ValueError, "a/b"):
            penstock.SharedLoader(self.records(), share="a/b")

    def test_the_name_that_slurm_gave(self):
        with self.assertRaisesRegex(ValueError, "--loader-share=NAME"):
            penstock.SharedLoader(self.records())
        os.environ["PENSTOCK_LOADER_SHARE"] = self.share
        self.addCleanup(os.environ.pop, "PENSTOCK_LOADER_SHARE")
        with penstock.SharedLoader(self.records(), 50) as loader:
            self.assertEqual(len(numbers(loader)), 2)
        with self.assertRaisesRegex(ValueError, "closed"):
            numbers(loader)


if __name__ == "__main__":
    unittest.main()
