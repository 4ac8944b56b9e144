"""The environment of a cell: a memory control group, mpirun, and a slow
tier."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile

from bench.program import MPI_SETTINGS, BenchError, need, run

RUN_LIMIT_S = 600
# Keeps all traffic on the machine.
SETTINGS = {
    **MPI_SETTINGS,
    "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_oob_tcp_if_include": "lo",
}


class Program:
    """Runs penstock-lmdb-bench over some ranks."""

    def __init__(self, build):
        self._path = build / "bin" / "penstock-lmdb-bench"
        if not self._path.exists():
            raise BenchError(f"{self._path} is not there: it is built where "
                             "CMake finds MPI (libopenmpi-dev)")

    def run(self, ranks, words, group=None):
        """Returns the ranks' lines of JSON."""
        command = ["mpirun", "-n", str(ranks), str(self._path), *words]
        try:
            done = subprocess.run(
                command, env={**os.environ, **SETTINGS}, text=True,
                capture_output=True, timeout=RUN_LIMIT_S, check=False,
                preexec_fn=group.enter if group else None)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BenchError(f"{' '.join(command)}: {error}") from error
        lines = [json.loads(line) for line in done.stdout.splitlines()
                 if line.startswith("{")]
        errors = [line["error"] for line in lines if "error" in line]
        if errors or len(lines) != ranks:
            raise BenchError(f"{' '.join(command)}: "
                             + (errors or [done.stderr.strip()[-500:]])[0])
        return lines


def read_into_cache(path):
    """Reads the whole file into the page cache. Drops it first, because pages
    cached before may be smaller, and take longer to map."""
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while file.read(8 << 20):
            pass


def check_tools(build):
    need(mpirun="openmpi-bin", fio="fio", fusermount3="fuse3")
    if not (build / "bin" / "penstock-slow-tier").exists():
        raise BenchError("penstock-slow-tier is not there: it is built where "
                         "CMake finds libfuse3-dev")


def fio_bytes_per_s(path, request_bytes, seconds, group):
    """Returns fio's rate for the file, sequential, past the page cache, with
    eight requests at once."""
    done = subprocess.run(
        ["fio", "--name=sequential", f"--filename={path}", "--readonly",
         "--rw=read", f"--bs={request_bytes}", "--iodepth=8", "--direct=1",
         "--ioengine=libaio", f"--runtime={seconds}", "--output-format=json"],
        text=True, capture_output=True, check=False, preexec_fn=group.enter)
    try:
        job = json.loads(done.stdout)["jobs"][0]["read"]
    except (ValueError, LookupError) as error:
        raise BenchError(f"fio: {done.stderr.strip()[-300:]}") from error
    return job["io_bytes"] / (job["runtime"] / 1000)


@contextlib.contextmanager
def slow_tier(build, source):
    """Mounts the folder through penstock-slow-tier: 2 ms and 100 MB/s."""
    program = build / "bin" / "penstock-slow-tier"
    with tempfile.TemporaryDirectory() as folder:
        run(program, source, folder)
        try:
            yield pathlib.Path(folder)
        finally:
            subprocess.run(["fusermount3", "-u", folder], check=False)
