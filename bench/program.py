"""Programs that benchmarks run, and how a benchmark fails."""

import subprocess


class BenchError(Exception):
    """What could not be done, with the program's own words."""


# What benchmarks are prepared for; what else is raised is a mistake in them.
FAILURES = (BenchError, OSError, subprocess.SubprocessError)


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
