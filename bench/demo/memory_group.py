"""A control group that limits the memory of its processes."""

import os
import pathlib
import time

MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
PREFIX = "penstock-bench-"


class MemoryGroup:
    """A group of cgroup v1: page cache and tmpfs count too. Without cgroup v1
    or root it has no limit; `why` gives the reason."""

    def __init__(self, limit_bytes, name=""):
        sweep()
        self._path = MEMORY / f"{PREFIX}{os.getpid()}{name and '-' + name}"
        self.why = ""
        try:
            self._path.mkdir()
            self.limit(limit_bytes)
        except OSError as error:
            self.why = str(error)
            remove(self._path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        remove(self._path)

    def limit(self, limit_bytes):
        (self._path / "memory.limit_in_bytes").write_text(str(limit_bytes))

    def enter(self):
        """Call it in a child, before exec."""
        if not self.why:
            (self._path / "cgroup.procs").write_text(str(os.getpid()))

    def own_bytes(self):
        """Returns the programs' own memory: tmpfs counts, files do not."""
        lines = (self._path / "memory.stat").read_text("ascii").splitlines()
        figures = dict(line.split() for line in lines)
        return int(figures["total_rss"]) + int(figures["total_shmem"])


def remove(path):
    # Killed processes take a while to exit.
    for _ in range(50):
        try:
            # Otherwise its page cache would remain for later users.
            (path / "memory.force_empty").write_text("0")
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.1)
        else:
            return


def sweep():
    """Removes the groups of killed benchmarks."""
    for path in MEMORY.glob(PREFIX + "*"):
        pid = path.name.removeprefix(PREFIX).split("-")[0]
        if pid.isdigit() and not pathlib.Path(f"/proc/{pid}").exists():
            remove(path)
