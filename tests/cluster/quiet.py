"""Tests whose figures are valid only if others leave the machine's CPUs idle.

    class Rates(quiet.Quiet, agent_case.AgentCase):

A failure while others computed proves nothing: the test waits until the machine
is quiet, and runs again. If it does not become quiet, the test is skipped as
not measured."""

import os
import sys
import time
import unittest

import embedded
import hierarchy

OTHERS_CORES = 0.15  # cores that others may use during a test that counts
TRIES = 3
LOOK_S = 1
# user, nice, system, irq, softirq and steal in a line of /proc/stat
BUSY_FIELDS = (1, 2, 3, 6, 7, 8)


def machine_s():
    """CPU seconds that the machine was busy since boot."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = file.readline().split()
    return (sum(int(fields[index]) for index in BUSY_FIELDS)
            / os.sysconf("SC_CLK_TCK"))


class Others:
    """CPU time of all processes outside this test and its cluster, from now
    on."""

    def __init__(self, node):
        self._node = node
        self._begun = time.monotonic()
        self._rest_s = self._all_but_daemons_s()
        self._daemons_s = hierarchy.daemons_s(node)

    def cores(self):
        """The mean since the start. CPU time of an ended daemon of the
        cluster counts as others'."""
        daemons_s = sum(used_s - self._daemons_s.get(pid, 0) for pid, used_s in
                        hierarchy.daemons_s(self._node).items())
        return ((self._all_but_daemons_s() - self._rest_s - daemons_s)
                / (time.monotonic() - self._begun))

    def _all_but_daemons_s(self):
        return (machine_s() - sum(os.times()[:4])
                - hierarchy.jobs_s(self._node))


class Recorder(unittest.TestResult):
    """The result of one try, to be passed to another result or dropped."""

    def __init__(self):
        super().__init__()
        self._calls = []

    def failed(self):
        return not self.wasSuccessful()

    def tell(self, result):
        for name, arguments in self._calls:
            getattr(result, name)(*arguments)


def recorded(name):
    def method(self, *arguments):
        getattr(unittest.TestResult, name)(self, *arguments)
        self._calls.append((name, arguments))
    return method


for call in ("startTest", "stopTest", "addSuccess", "addError", "addFailure",
             "addSkip", "addSubTest"):
    setattr(Recorder, call, recorded(call))


class Quiet:
    """A mixin for a ClusterCase; see the module's docstring. On an emulated
    machine nothing is measured, and no others are counted."""

    wait_left_s = 60  # of all tests of this process together

    def run(self, result):
        if embedded.PATIENCE > 1:
            return super().run(result)
        for _ in range(TRIES):
            others = Others(self.cluster.node)
            trial = Recorder()
            super().run(trial)
            cores = others.cores()
            if not trial.failed() or cores <= OTHERS_CORES:
                trial.tell(result)
                return result
            print(f"{self.id()} failed while others used {cores:.2f} cores",
                  *(text for _, text in trial.failures + trial.errors),
                  sep="\n", file=sys.stderr, flush=True)
            if not self._wait_for_quiet():
                break
        result.startTest(self)
        result.addSkip(self, "NOT MEASURED: others use the machine's CPUs")
        result.stopTest(self)
        return result

    def _wait_for_quiet(self):
        while Quiet.wait_left_s > 0:
            others = Others(self.cluster.node)
            time.sleep(LOOK_S)
            if others.cores() <= OTHERS_CORES:
                return True
            Quiet.wait_left_s -= LOOK_S
        return False
