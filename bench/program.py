"""Programs that benchmarks run, and how a benchmark fails."""

import shutil
import subprocess


class BenchError(Exception):
    """What could not be done, with the program's own words."""


# What benchmarks are prepared for; what else is raised is a mistake in them.
FAILURES = (BenchError, OSError, subprocess.SubprocessError)

# Open MPI's, for more ranks than cores.
MPI_SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def need(**packages):
    """What is needed late is missed at once. packages: by program."""
    for name, package in packages.items():
        if shutil.which(name) is None:
            raise BenchError(f"{name} is not there: install {package}")


def run(*argv, **options):
    """The program's standard output. options: subprocess.run()'s."""
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
