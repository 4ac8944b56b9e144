"""Runs programs for benchmarks, and defines their errors."""

import shutil
import subprocess


class BenchError(Exception):
    """A failed operation, with the program's own message."""


# Expected errors of benchmarks; any other exception is a bug in them.
FAILURES = (BenchError, OSError, subprocess.SubprocessError)

# Settings of Open MPI, for more ranks than cores.
MPI_SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def need(**packages):
    """Raises BenchError now for programs needed later. packages: by program."""
    for name, package in packages.items():
        if shutil.which(name) is None:
            raise BenchError(f"{name} is not there: install {package}")


def run(*argv, **options):
    """Returns the program's standard output. options: of subprocess.run()."""
    argv = list(map(str, argv))
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False,
                              **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"{' '.join(argv)}: {error}") from error
    if done.returncode != 0:
        why = (done.stderr or done.stdout).strip()[-500:]
        raise BenchError(f"{' '.join(argv)}: {why}")
    return done.stdout
