"""Analysis mode of several ranks that wait for each other, and its limits."""

import importlib.util
import os
import sys
import time
import types
import unittest
from unittest import mock

from fake_analyze import FakeAnalyze
from fake_daemon import FakeDaemon, eventually, socket_folder

RANKS = """
import os, sys, time, torch, penstock
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
torch.set_num_threads(1)
rank = int(os.environ["RANK"])
dist.init_process_group("gloo", init_method="file://" + sys.argv[1],
                        rank=rank, world_size=2)
data = TensorDataset(torch.arange(400.).reshape(400, 1))
loader = DataLoader(data, 4, sampler=DistributedSampler(data), num_workers=1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
optimiser = torch.optim.SGD(model.parameters(), lr=1e-6)
for batch, in penstock.watch(loader):
    time.sleep(0.002 * (1 + 3 * rank))
    optimiser.zero_grad()
    model(batch).sum().backward()
    optimiser.step()
"""
LOOP = """
import os, sys, time, penstock
for batch in penstock.watch([[1, 2]] * 10):
    end = time.monotonic() + 0.005
    while time.monotonic() < end:
        pass
"""


def hold_together(ranks):
    """Like penstock analyze: a rank that does not answer waits for a slower
    rank, which then advances by a step."""
    held = {}
    for rank in ranks.values():
        rank.send(hold=True)
    waits = 0
    while len(held) < len(ranks) or len(set(held.values())) > 1:
        for number, rank in ranks.items():
            if number in held:
                continue
            try:
                while "held" not in (message := rank.receive(0.5)):
                    pass
                held[number] = message["held"]
            except TimeoutError:
                pass
        behind = min(held, key=held.get)
        if len(held) < len(ranks) or held[behind] < max(held.values()):
            ranks[behind].send(advance=1)
            del held[behind]
            waits += 1
            assert waits < 20, held
    return held[0]


@unittest.skipUnless(importlib.util.find_spec("torch"),
                     "SKIPPED: python3-torch is not installed")
class RanksTest(unittest.TestCase):
    def test_ranks_that_wait_for_each_other_change_their_cells_together(self):
        folder = socket_folder()
        self.addCleanup(folder.cleanup)
        analyze = FakeAnalyze(
            RANKS, 2, [os.path.join(folder.name, "meet")], OMP_NUM_THREADS="1")
        self.addCleanup(analyze.close)
        ranks = analyze.ranks
        self.assertEqual(sorted(ranks), [0, 1])
        self.assertEqual({r.hello["ranks"] for r in ranks.values()}, {2})
        steps = [hold_together(ranks)]
        for number, data in enumerate(
                ("memory", "replay", "cold", "replay", "memory"), 1):
            for rank in ranks.values():
                rank.start(number, data, train=True, subset_samples=32)
            for rank in ranks.values():
                rank.await_ready(number)
            for rank in ranks.values():
                rank.measure(number, 20)
            steps.append(hold_together(ranks))
        self.assertEqual(steps[0], 0)
        self.assertEqual(steps, sorted(set(steps)))
        for (_, errors), code in analyze.end():
            self.assertEqual((errors, code), ("", 0))

    def test_advance_is_one_batch(self):
        for train in (True, False):
            analyze = FakeAnalyze(LOOP)
            self.addCleanup(analyze.close)
            rank = analyze.ranks[0]
            rank.run(1, "replay", 10, train=train)
            steps = rank.hold()
            for _ in range(3):
                rank.send(advance=1)
                steps += 1 if train else 0
                self.assertEqual(rank.await_held(), steps)
            with self.assertRaises(TimeoutError):
                rank.receive(0.3)  # it stays
            rank.run(2, "replay", 10, train=train)


class LimitsTest(unittest.TestCase):
    def setUp(self):
        folder = socket_folder()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "penstockd.sock")

    def rank(self):
        analyze = FakeAnalyze(LOOP, PENSTOCK_SOCKET=self.path)
        self.addCleanup(analyze.close)
        return analyze, analyze.ranks[0]

    def daemon(self):
        daemon = FakeDaemon(self.path)
        self.addCleanup(daemon.close)
        return daemon

    def test_penstockd_is_asked_for_each_cells_limits(self):
        daemon = self.daemon()
        analyze, rank = self.rank()
        for number, (cores, rate, by) in enumerate((
            (0.75, None, ["quota", ""]), (None, 5e6, ["", "kernel"]),
            (1, 5e6, ["quota", "kernel"]), (None, None, ["", ""]),
        ), 1):
            ready, _ = rank.run(number, "replay", 10, cores=cores,
                                bytes_per_s=rate, train=True)
            limits = ready["limits"]
            self.assertEqual([limits["cores"], limits["bytes_per_s"]], by)
            self.assertEqual(limits["why"], "")
            self.assertEqual(
                daemon.limits[-1],
                (round((cores or 0) * 1000), 0, round(rate or 0)))
        analyze.end()
        self.assertEqual(daemon.limits[-1], (0, 1, 0))

    def test_a_job_that_penstockd_cannot_hold_is_measured_all_the_same(self):
        """Affinity masks then set whole CPUs; nothing is lent or borrowed."""
        daemon = self.daemon()
        daemon.refuses = lambda limit: (limit[0] or limit[2]) and (
            (19, "in no pool") if limit[2] else (95, ""))
        _, rank = self.rank()
        for number, (cores, rate, asked, limits) in enumerate((
            (None, 1e6, (0, 0, 1000000), ["", "", "in no pool"]),
            (0.5, None, (500, 0, 0),
             ["", "", "Operation not supported: whole CPUs only"]),
            (1, None, (1000, 0, 0),
             ["affinity", "", "Operation not supported"]),
        ), 1):
            ready, _ = rank.run(
                number, "replay", 10, cores=cores, bytes_per_s=rate)
            self.assertEqual(list(ready["limits"].values()), limits)
            self.assertEqual(daemon.limits[-2:], [asked, (0, 0, 0)])

    def test_without_penstockd_whole_cpus_by_masks(self):
        analyze, rank = self.rank()
        pid = analyze.processes[0].pid
        own = os.sched_getaffinity(pid)
        if len(own) < 2:
            self.skipTest("SKIPPED: one CPU only")
        for number, (cores, by, cpus) in enumerate((
            (1, "affinity", 1), (None, "", len(own)), (0.5, "", len(own)),
            (1000, "", len(own)), (1, "affinity", 1),
        ), 1):
            ready, _ = rank.run(number, "replay", 10, cores=cores)
            limits = ready["limits"]
            self.assertEqual(limits["cores"], by)
            self.assertEqual(self.path in limits["why"], cores is not None)
            for tid in os.listdir(f"/proc/{pid}/task"):
                self.assertEqual(len(os.sched_getaffinity(int(tid))), cpus)

    def test_limits_are_renewed_while_a_step_lasts(self):
        from penstock import _analysis_limits

        daemon = self.daemon()
        renew_s, _analysis_limits._RENEW_S = _analysis_limits._RENEW_S, 0.05
        self.addCleanup(setattr, _analysis_limits, "_RENEW_S", renew_s)
        path = os.environ.get("PENSTOCK_SOCKET")
        os.environ["PENSTOCK_SOCKET"] = self.path
        self.addCleanup(restore_variable, "PENSTOCK_SOCKET", path)
        limits = _analysis_limits.Limits()
        limits.apply(0.5, None, [])
        self.assertTrue(eventually(lambda: len(daemon.limits) > 3))
        self.assertEqual(set(daemon.limits), {(500, 0, 0)})
        limits.release()
        count = len(daemon.limits)
        time.sleep(0.2)
        self.assertEqual(daemon.limits[count - 1:], [(0, 1, 0)])


def restore_variable(name, value):
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


class FactsTest(unittest.TestCase):
    def test_the_rank_is_what_the_launcher_says(self):
        from penstock._analysis_facts import rank_of

        slurm = {"SLURM_PROCID": "3", "SLURM_NTASKS": "4"}
        mpi = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "8"}
        torchrun = {"RANK": "1", "WORLD_SIZE": "2"}
        for environment, expected in (
            ({}, (0, 1)), (slurm, (3, 4)), (slurm | mpi, (2, 8)),
            (slurm | mpi | torchrun, (1, 2)),
            ({"RANK": "5", "WORLD_SIZE": "2"}, (0, 1)),
            ({"RANK": "x", "WORLD_SIZE": "2", **slurm}, (3, 4)),
            ({"RANK": "1"}, (0, 1)),
        ):
            self.assertEqual(rank_of(environment), expected, environment)

    def test_a_process_group_knows_better(self):
        from penstock._analysis_facts import torch_rank

        group = types.SimpleNamespace(
            is_available=lambda: True, is_initialized=lambda: True,
            get_rank=lambda: 2, get_world_size=lambda: 4)
        modules = {"torch.distributed": group}
        with mock.patch.dict(sys.modules, modules):
            self.assertEqual(torch_rank(), (2, 4))
            group.is_initialized = lambda: False
            self.assertIsNone(torch_rank())
            group.is_available = lambda: False
            self.assertIsNone(torch_rank())

    def test_cpus_that_processes_share_are_not_each_ones(self):
        from penstock._analysis_facts import cpus_of

        torchrun = {"TORCHELASTIC_RUN_ID": "1", "LOCAL_WORLD_SIZE": "4"}
        for environment, expected in (
            ({}, 16), ({"SLURM_CPUS_PER_TASK": "6"}, 6),
            ({"SLURM_CPUS_PER_TASK": "60"}, 16),
            ({"SLURM_CPUS_PER_TASK": "x"}, 16), (torchrun, 4),
            (torchrun | {"SLURM_CPUS_PER_TASK": "8"}, 2),
            (torchrun | {"LOCAL_WORLD_SIZE": "40"}, 1),
            ({"LOCAL_WORLD_SIZE": "4"}, 16),  # each rank may be bound by itself
        ):
            self.assertEqual(cpus_of(environment, 16), expected, environment)



if __name__ == "__main__":
    unittest.main()
