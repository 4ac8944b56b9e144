"""Jobs that run at the same time: the rate of each, and the CPU time of all."""

import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile
import threading

from bench import ROOT
from bench.program import BenchError

PYTHON = "/usr/bin/python3"
RUN_LIMIT_S = 600


@dataclasses.dataclass(frozen=True)
class Run:
    rate: float   # samples/s of a job, the mean of all
    cpu_s: float  # of all processes, from their start to their end
    samples: int  # of each job


@contextlib.contextmanager
def stopped_at_the_end(processes):
    try:
        yield
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
                process.wait()


def reap(process):
    """Returns the process's CPU seconds, including children that it waited
    for."""
    late = threading.Timer(RUN_LIMIT_S, process.kill)
    late.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        late.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def start(command, environment, **streams):
    try:
        return subprocess.Popen(list(map(str, command)), env=environment,
                                cwd=ROOT, **streams)
    except OSError as error:
        raise BenchError(f"{command[0]}: {error}") from error


class Penstock:
    """Runs penstock-train, whose emulated accelerator takes no time and no
    CPU."""

    def __init__(self, build, folder, environment):
        self._command = [build / "bin" / "penstock-train", "--data", folder]
        self._environment = {**os.environ, **environment}

    def run(self, jobs, epochs, *words):
        """words: further options of each job."""
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            processes = []
            stack.enter_context(stopped_at_the_end(processes))
            errors = stack.enter_context(tempfile.TemporaryFile("w+"))
            for job in range(jobs):
                processes.append(start(
                    [*self._command, "--epochs", epochs, "--json",
                     f"{folder}/{job}", *words], self._environment,
                    stdout=subprocess.DEVNULL, stderr=errors))
            cpu_s = sum(map(reap, processes))
            if any(process.returncode for process in processes):
                errors.seek(0)
                raise BenchError("penstock-train: " + errors.read()[-500:])
            found = [json.loads(pathlib.Path(folder, str(job)).read_text("utf-8"))
                     for job in range(jobs)]
        return self._sum_up(found, cpu_s)

    @staticmethod
    def _sum_up(found, cpu_s):
        samples = {one["samples"] for one in found}
        if len(samples) != 1:
            raise BenchError(f"jobs had {samples} samples")
        rates = [one["rate_samples_per_s"] for one in found]
        return Run(sum(rates) / len(rates), cpu_s, samples.pop())


def pytorch(folder, jobs):
    """Runs DataLoaders in this number of processes that begin together."""
    processes = []
    with stopped_at_the_end(processes):
        for _ in range(jobs):
            processes.append(start(
                [PYTHON, "-B", "-m", "bench.staging.torch_epoch", folder],
                dict(os.environ, OMP_NUM_THREADS="1"), text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL))
        for process in processes:
            if process.stdout.readline() != "ready\n":
                raise BenchError("PyTorch's loader did not start; "
                                 "python3-torch and python3-torchvision are needed")
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        found = [process.communicate(timeout=RUN_LIMIT_S)[0]
                 for process in processes]
    if any(process.returncode for process in processes):
        raise BenchError("PyTorch's loader failed")
    epochs = [json.loads(text) for text in found]
    rates = [one["samples"] / one["seconds"] for one in epochs]
    return Run(sum(rates) / len(rates), 0, epochs[0]["samples"])
