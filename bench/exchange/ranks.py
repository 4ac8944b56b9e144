"""Runs penstock-exchange-bench over ranks, on nodes of a network or on this
machine."""

import json
import os
import signal
import subprocess
import tempfile
import threading

from bench.demo import ending
from bench.program import MPI_SETTINGS, BenchError, need

PROGRAM = "penstock-exchange-bench"
RUN_LIMIT_S = 900
MEMORY = {"OMPI_MCA_btl": "self,vader", "OMPI_MCA_pml": "ob1"}


class Ranks:
    """network: with one node per rank, or None for shared memory."""

    def __init__(self, build, count, network=None):
        self._program = build / "bin" / PROGRAM
        self.count = count
        self._hosts = ["-H", ",".join(network.addresses)] if network else []
        self._environment = {
            **os.environ, **MPI_SETTINGS,
            **(network.environment if network else MEMORY)}

    def lines(self, *words):
        """Yields the lines of rank 0's output as they arrive."""
        command = ["mpirun", "-n", str(self.count), *self._hosts,
                   str(self._program), *map(str, words)]
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                command, env=self._environment, text=True, stderr=errors,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                preexec_fn=lambda: ending.signal_at_parents_end(
                    signal.SIGTERM))
            late = threading.Timer(RUN_LIMIT_S, process.terminate)
            late.start()
            try:
                for line in process.stdout:
                    yield json.loads(line)
                code = process.wait()
            finally:
                late.cancel()
                process.terminate()
                process.wait()
            if code != 0:
                errors.seek(0)
                raise BenchError(f"{' '.join(command)}: {code}, "
                                 f"{errors.read().strip()[-500:]}")


def check(build):
    need(mpirun="openmpi-bin")
    if not (build / "bin" / PROGRAM).exists():
        raise BenchError(f"{build}/bin/{PROGRAM} is not there: it is built "
                         "where CMake finds MPI (libopenmpi-dev)")
