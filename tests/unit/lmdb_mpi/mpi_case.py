"""Runs the tests' programs with mpirun on this machine."""

import contextlib
import os
import re
import subprocess
import tempfile
import unittest

MPIEXEC = os.environ["MPIEXEC"]
RANKS = os.environ["RANKS"]
# Allows more ranks than cores, root, and no network.
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_oob_tcp_if_include": "lo",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    # The other ranks must detect a rank's death, not mpirun.
    "OMPI_MCA_orte_abort_on_non_zero_status": "0",
    "OMPI_MCA_orte_allowed_exit_without_sync": "1",
    "OMPI_MCA_orte_enable_recovery": "1",
}


@contextlib.contextmanager
def environment():
    """With a folder for what dead ranks leave. Two runs of Open MPI 4.1 must not
    share the one for sessions, which one creates while the other removes it."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as shared:
        yield {**os.environ, **SETTINGS,
               "OMPI_MCA_orte_tmpdir_base": shared,
               "OMPI_MCA_btl_vader_backing_directory": shared,
               "OMPI_MCA_osc_sm_backing_directory": shared}


def mpirun(ranks, *command, timeout_s=120):
    """The ranks' output, by rank."""
    with environment() as env:
        try:
            done = subprocess.run(
                [MPIEXEC, "-n", str(ranks), *command], env=env, text=True,
                timeout=timeout_s, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, check=False)
        except subprocess.TimeoutExpired as late:
            # Other ranks wait for a rank that has ended: its line has the
            # reason.
            raise AssertionError(f"{late}: {late.output}") from late
    return {int(rank): text for rank, text in re.findall(
        r"^rank (\d+)[^:]*: (.*)$", done.stdout, re.MULTILINE)}, done.stdout


class MpiCase(unittest.TestCase):
    """A TestCase with a database in its own folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.database = folder.name + "/data.mdb"
        self.make()

    def make(self):
        """Replaces an existing database."""
        for name in os.listdir(os.path.dirname(self.database)):
            os.unlink(os.path.join(os.path.dirname(self.database), name))
        self.expect(1, {0: "ok"}, "make", self.database)

    def expect(self, ranks, texts, *words):
        """texts: a pattern for each rank's line."""
        lines, output = mpirun(ranks, RANKS, *words)
        for rank, text in texts.items():
            self.assertRegex(lines.get(rank, "nothing"), text,
                             f"rank {rank}; all of it:\n{output}")
        self.assertEqual(sorted(lines), sorted(texts), output)
