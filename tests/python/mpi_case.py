"""Runs a case of exchange_ranks.py under mpirun."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

MPIEXEC = os.environ.get("MPIEXEC")
if not MPIEXEC:
    print("SKIPPED: no mpirun")
    sys.exit(77)
_SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMP_NUM_THREADS": "1",
    "GLOO_SOCKET_IFNAME": "lo",
}


class MpiCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="penstock-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, ranks, *arguments):
        program = Path(__file__).with_name("exchange_ranks.py")
        return subprocess.run(
            [MPIEXEC, "-n", str(ranks), sys.executable, "-B", str(program)]
            + list(map(str, arguments)),
            # Two runs of Open MPI 4.1 must not share it: one creates it while
            # the other removes it.
            env={**os.environ, **_SETTINGS,
                 "OMPI_MCA_orte_tmpdir_base": self.folder},
            capture_output=True,
            text=True,
            timeout=110,
        )

    def results(self, ranks, *arguments):
        """The ranks' outputs, in the order of ranks."""
        done = self.start(ranks, *arguments)
        lines = sorted(line.split(" ", 1) for line in done.stdout.splitlines())
        self.assertEqual(
            [rank for rank, _ in lines], list(map(str, range(ranks))),
            done.stdout + done.stderr,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return [result for _, result in lines]
