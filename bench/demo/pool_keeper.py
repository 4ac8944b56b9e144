"""Makes the emulated pool (pool.py), waits for the end of its standard input,
and removes the pool: python3 -m bench.demo.pool_keeper IMAGE BYTES_PER_S
READ_DELAY_MS

The caller's death closes the input, so kill -9 of the caller also removes the
pool. If the keeper itself is killed, the next one finds the directory unlocked
and removes its content. Prints one JSON line: {"mountpoint", "groups"} or
{"error"}.
"""

import fcntl
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from bench.program import FAILURES, BenchError, run

PREFIX = "/tmp/penstock-pool."
# The bucket's depth in seconds of bandwidth: the burst allowed after a pause.
BURST_S = 0.05
START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 60


def wait_until(condition, timeout_s, period_s=0.05):
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(period_s)
    return True


def lock(directory):
    """Returns an open file that holds the directory's lock, or None if its
    owner lives."""
    file = open(directory / "lock", "w", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
    except OSError:
        file.close()
        return None


# -- making -------------------------------------------------------------------

def start(name, directory, argv, ready):
    """Starts a daemon in the foreground of its own session."""
    with open(directory / f"{name}.log", "wb") as log:
        daemon = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=log, start_new_session=True)
    (directory / f"{name}.pid").write_text(str(daemon.pid), "ascii")
    wait_until(lambda: ready() or daemon.poll() is not None, START_TIMEOUT_S)
    if daemon.poll() is not None or not ready():
        text = (directory / f"{name}.log").read_text("utf-8", "replace")
        raise BenchError(f"{name} does not start: {text.strip()[-400:]}")


def make(directory, image, bytes_per_s, read_delay_ms):
    """Makes the whole chain; returns the mount point."""
    for name in ("export", "mnt"):
        (directory / name).mkdir()
    wire = directory / "nbd.sock"
    start("nbdkit", directory,
          ["nbdkit", "--foreground", "--readonly", "-U", str(wire),
           "--filter=rate", "--filter=delay", "file", str(image),
           f"rate={bytes_per_s * 8}", f"burstiness={BURST_S}",
           f"rdelay={read_delay_ms}ms"], wire.exists)
    start("nbdfuse", directory,
          ["nbdfuse", "--readonly", str(directory / "export"), "--unix",
           str(wire)], (directory / "export" / "nbd").exists)
    device = run("losetup", "--direct-io=on", "--read-only", "--find",
                 "--show", directory / "export" / "nbd").strip()
    run("mount", "-t", "ext4", "-o", "ro,nosuid,nodev,noexec", device,
        directory / "mnt")
    for group in groups(directory):
        group.mkdir()
    return directory / "mnt"


def groups(directory):
    """Returns cgroups outside the demo's, to prove that the limit holds there
    too."""
    return [pathlib.Path(f"/sys/fs/cgroup/{controller}/{directory.name}")
            for controller in ("blkio", "cpu")]


# -- removing -----------------------------------------------------------------

def mounted(path):
    return any(line.split()[4] == str(path) for line in
               pathlib.Path("/proc/self/mountinfo").read_text().splitlines())


def unmount(path, *lazily):
    """Returns True if it is not mounted (any more)."""
    if mounted(path):
        subprocess.run(["umount", *lazily, str(path)], capture_output=True,
                       timeout=60, check=False)
    return not mounted(path)


def loop_devices(directory):
    """Returns the loop devices whose file is in the directory."""
    found = []
    for backing in glob.glob("/sys/block/loop*/loop/backing_file"):
        try:
            name = pathlib.Path(backing).read_text("utf-8").strip()
        except OSError:
            continue  # detached in between
        if name.startswith(f"{directory}/"):
            found.append("/dev/" + backing.split("/")[3])
    return found


def detach(directory):
    for device in loop_devices(directory):
        subprocess.run(["losetup", "--detach", device], capture_output=True,
                       timeout=60, check=False)
    return not loop_devices(directory)


def daemon_pids(directory):
    """Returns live daemons of the directory. A pid that another process has
    reused is excluded."""
    pids = []
    for file in directory.glob("*.pid"):
        text = file.read_text("ascii")
        if not re.fullmatch("[0-9]+", text):
            continue
        try:
            command = pathlib.Path(f"/proc/{text}/cmdline").read_bytes()
        except OSError:
            continue
        if str(directory).encode() in command:  # "" for a zombie
            pids.append(int(text))
    return pids


def end_daemons(directory, number):
    for pid in daemon_pids(directory):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
    return not daemon_pids(directory)


def remove_groups(directory):
    """Removes the groups. Remaining readers end by themselves."""
    for group in groups(directory):
        try:
            group.rmdir()
        except OSError:
            pass
    return not any(group.exists() for group in groups(directory))


def remove(directory):
    """Removes all existing parts of the pool; returns True when nothing is
    left."""
    mount = directory / "mnt"
    # Jobs may still read for a moment: their cluster ends at the same time.
    if not wait_until(lambda: unmount(mount), STOP_TIMEOUT_S, 0.2):
        unmount(mount, "--lazy")
    wait_until(lambda: detach(directory), 10)
    wait_until(lambda: unmount(directory / "export"), 5)
    if not wait_until(lambda: end_daemons(directory, signal.SIGTERM), 5):
        wait_until(lambda: end_daemons(directory, signal.SIGKILL), 5)
    unmount(directory / "export", "--lazy")
    emptied = wait_until(lambda: remove_groups(directory), 10)
    if mounted(mount) or mounted(directory / "export") or not emptied:
        return False
    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists() and not loop_devices(directory)


def remove_stale():
    """Removes the pools of killed keepers."""
    for name in glob.glob(PREFIX + "*"):
        directory = pathlib.Path(name)
        status = directory.lstat()
        # /tmp is shared: only this user's directories.
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            continue
        held = lock(directory)
        if held is not None:
            remove(directory)
            held.close()


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    image, settings = pathlib.Path(sys.argv[1]), map(int, sys.argv[2:])
    remove_stale()
    directory = pathlib.Path(tempfile.mkdtemp(prefix=PREFIX))
    directory.chmod(0o711)
    held = lock(directory)
    try:
        answer = {"mountpoint": str(make(directory, image, *settings)),
                  "groups": [str(group) for group in groups(directory)]}
    except FAILURES as error:
        answer = {"error": str(error)}
    try:
        print(json.dumps(answer), flush=True)
        sys.stdin.read()
    except BrokenPipeError:
        pass  # the caller has ended already
    clean = remove(directory)
    held.close()
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
