"""One run of a corpus script in an environment, and the comparison of two."""

import contextlib
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from socket import SO_PEERCRED, SOL_SOCKET

from header import Header

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
from fake_daemon import FakeDaemon  # noqa: E402

TIMEOUT_S = 300
# Inherited variables; all others of the caller are left out.
INHERITED = ("PATH", "LD_LIBRARY_PATH", "TZ")
FIXED = {
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "RAY_DEDUP_LOGS": "0",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}
# Of stderr, what differs between equal runs. A traceback keeps its exceptions:
# a hook may add frames to it.
_VARYING = (
    (re.compile(r"(?m)^ *(?:\[rank\d\]: *)?File \"[^\n]*\n(?:    [^\n]*\n)*"), ""),
    (re.compile(r"(?m)^[^\n]*%\|[^\n]*\n?"), ""),  # progress bars
    # CPython's, at the end of 1 of 60 stock runs with spawned workers: semaphores
    # that leaked, or are no longer there
    (re.compile(r"(?m)^[^\n]*UserWarning: resource_tracker: [^\n]*\n"
                r"(?: [^\n]*\n)?"), ""),
    (re.compile(r"\b0x[0-9a-f]+"), "ADDRESS"),
    (re.compile(r"\[[IWE]\d{4} \d\d:\d\d:\d\d\.\d+"), "[TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T_]\d\d:\d\d:\d\d(?:[.,]\d+)?"), "TIME"),
    (re.compile(r"[WEI]\d{4} \d\d:\d\d:\d\d\.\d+ \d+"), "TIME"),
    (re.compile(r"(?i)(\bpids?\W+)\d+"), r"\1PID"),
    (re.compile(r"(\]|localhost|127\.0\.0\.1|[\w-]+):\d{4,5}\b"), r"\1:PORT"),
)


class ProcessDaemon(FakeDaemon):
    """Gives each process its own pages, as penstockd does."""

    def __init__(self, path):
        self._of_process = {}  # process id -> its pages
        super().__init__(path)

    def _answer_hello(self, client):
        size = struct.calcsize("iII")
        pid = struct.unpack("iII", client.getsockopt(SOL_SOCKET, SO_PEERCRED, size))[0]
        self._pages = self._of_process.get(pid, [])
        super()._answer_hello(client)
        self._of_process[pid] = self._pages

    def close(self):
        self._pages = [page for pages in self._of_process.values() for page in pages]
        super().close()

    def samples(self):
        """What each process has reported, ascending; without those with none."""
        found = []
        for pages in self._of_process.values():
            self.progress_page = pages[0].memory
            found.append(self.progress()["samples"])
        return tuple(sorted(filter(None, found)))


@dataclass(frozen=True)
class Hook:
    folder: Path  # first on PYTHONPATH
    counts: bool  # with a stand-in of penstockd


@dataclass(frozen=True)
class Outcome:
    status: int | None  # as subprocess's returncode; None: it took too long
    stdout: bytes
    stderr: str  # without what varies
    samples: tuple[int, ...] | None  # None: without a daemon
    seconds: float


def run(interpreter: str, script: Path, header: Header, folder: Path,
        hook: Hook | None = None) -> Outcome:
    """Runs a script, or a package's folder, in a copy below the folder. The
    path of the copy is the same in each run."""
    work, home = folder / "work", folder / "home"
    for new in (work, home):
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
    copy = shutil.copytree if script.is_dir() else shutil.copyfile
    copy(script, work / script.name)
    environment = _environment(header, work, home, hook)
    entry = f"{script.name}/__main__.py" if script.is_dir() else script.name
    command = [word.replace("{script}", entry) for word in header.run.split()]
    with contextlib.ExitStack() as stack:
        daemon = None
        if hook and hook.counts:
            sockets = stack.enter_context(tempfile.TemporaryDirectory(prefix="corpus-"))
            environment["PENSTOCK_SOCKET"] = f"{sockets}/penstockd"
            daemon = stack.enter_context(ProcessDaemon(environment["PENSTOCK_SOCKET"]))
        before = os.times().elapsed
        status, stdout, stderr = _finish([interpreter, *command], environment, work)
        seconds = os.times().elapsed - before
        samples = daemon.samples() if daemon else None
    return Outcome(status, stdout, without_varying(stderr), samples, seconds)


def _environment(header, work, home, hook):
    found = {name: os.environ[name] for name in INHERITED if name in os.environ}
    found |= FIXED | dict.fromkeys(("HOME", "TMPDIR", "CORPUS_DATA"), str(home))
    path = [str(hook.folder)] if hook else []
    if header.path:
        path.append(str(work / header.path))
    if path:
        found["PYTHONPATH"] = ":".join(path)
    return found


def _finish(command, environment, work):
    """(status, stdout, stderr). Ends the whole session of one that hangs."""
    with subprocess.Popen(command, env=environment, cwd=work,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            stdout, stderr = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
            return None, stdout, stderr.decode(errors="replace")
        return process.returncode, stdout, stderr.decode(errors="replace")


def without_varying(stderr: str) -> str:
    text = stderr.replace("\r", "\n")
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    return text


def differences(header: Header, first: Outcome, second: Outcome) -> list[str]:
    """What is wrong with either run or unequal in both; empty: nothing. The
    first is without a hook."""
    found = []
    for name, outcome in (("first", first), ("second", second)):
        if outcome.status is None:
            found.append(f"{name} run took more than {TIMEOUT_S} s")
        elif outcome.status != header.exit:
            found.append(
                f"{name} run: exit status {outcome.status}, must be {header.exit}; "
                f"stderr ends with {outcome.stderr[-600:]!r}"
            )
    for stream in ("stdout", "stderr"):
        if stream not in header.differs:
            found += _unequal(stream, getattr(first, stream), getattr(second, stream))
    if second.samples is not None and header.samples is not None:
        if second.samples != header.samples:
            found.append(
                f"samples counted {second.samples}, must be {header.samples}"
            )
    return found


def _unequal(stream, first, second):
    if first == second:
        return []
    ones, others = first.splitlines(True), second.splitlines(True)
    pairs = zip([*ones, "(end)"], [*others, "(end)"])
    number, (one, other) = next(
        (number, pair) for number, pair in enumerate(pairs, 1) if pair[0] != pair[1]
    )
    return [f"{stream} differs in line {number}: {one!r}, then {other!r}"]
