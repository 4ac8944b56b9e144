"""Attacks by files: reports, caches, and paths that penstockd reads or
removes."""

import errno
import itertools
import os
import pathlib
import shutil
import subprocess
import time

from hostile import lock_memory
from hostile.attack import Broke, NotHere, attack, check, libc, start

CACHES = "/dev/shm"
MS_BIND = 0x1000


@attack("writes, renames and removes files of penstockd's folders",
        "refusals")
def daemon_files(site):
    count = 0
    while True:
        for folder in (site.reports, *site.state):
            names = [os.path.join(folder, name) for name in os.listdir(folder)]
            new = os.path.join(folder, "hostile")
            for call in [lambda: os.symlink("/etc/passwd", new),
                         lambda: os.mkdir(new),
                         lambda: os.mkfifo(new),
                         lambda: os.rename(folder, folder + ".hostile"),
                         *(lambda path=path: os.chmod(path, 0o777)
                           for path in names),
                         *(lambda path=path: os.rename(path, new)
                           for path in names),
                         *(lambda path=path: os.unlink(path)
                           for path in names),
                         *(lambda path=path: os.truncate(path, 0)
                           for path in names)]:
                count += refused(call)
        if not site.goes_on():
            return count


def refused(call):
    try:
        call()
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOENT,
                           errno.EINVAL, errno.ENXIO, errno.EROFS):
            return 1
        raise
    raise Broke("changed a file of penstockd")


@attack("fills cache folders with links, FIFOs and more files than are swept",
        "files")
def cache_folders(site):
    count = 0
    folders = [pathlib.Path(CACHES, f"penstock-cache-{os.getuid()}"),
               pathlib.Path(CACHES, f"penstock-cache-g{os.getgid()}"),
               pathlib.Path(CACHES, "penstock-cache-0"),
               pathlib.Path(CACHES, f"penstock-cache-{os.getuid()}0")]
    try:
        for number in itertools.count():
            folder = folders[number % 2]
            try:
                folder.mkdir(0o700, exist_ok=True)
                folders[3].is_symlink() or folders[3].symlink_to("/etc")
                count += fill(folder, number)
            except PermissionError:
                pass  # another user's, from an earlier time
            if not site.goes_on():
                return count
    finally:
        for folder in folders:
            if folder.is_symlink():
                folder.unlink()
            elif folder.exists() and folder.stat().st_uid == os.getuid():
                shutil.rmtree(folder)


def fill(folder, number):
    """Puts up to 2,000 entries of several kinds into the folder."""
    path = folder / f"{number % 2000:08x}"
    path.unlink(missing_ok=True)
    kind = number // 2 % 4
    if kind == 0:
        path.symlink_to("/etc/passwd")
    elif kind == 1:
        os.mkfifo(path)
    elif kind == 2:
        path.write_bytes(os.urandom(4096))
    else:
        os.link(__file__, path) if os.access(__file__, os.W_OK) else \
            path.symlink_to(folder)
    return 1


@attack("names FIFOs, folders, devices, loops and huge files as its profile",
        "steps")
def profile_paths(site):
    home = pathlib.Path(site.home)
    fifo, loop, huge = home / "fifo", home / "loop", home / "huge"
    for path in (fifo, loop, huge):
        path.unlink(missing_ok=True)
    os.mkfifo(fifo)
    loop.symlink_to(loop)
    with open(huge, "wb") as file:
        file.truncate(1 << 40)
    paths = [fifo, loop, huge, home, "/dev/zero", "/dev/stdin", "/proc/kmsg",
             "/proc/self/mem", "/proc/self/fd/0"]
    return start_steps(site, paths)


def start_steps(site, paths):
    count = 0
    for path in itertools.cycle(paths):
        subprocess.run(["srun", "--overlap", "-N1", "-n1", "--quiet",
                        "--loader=auto", f"--loader-model={path}", "true"],
                       stdin=subprocess.DEVNULL, capture_output=True,
                       timeout=30, check=False)
        count += 1
        if not site.goes_on():
            return count


@attack("names a file of a FUSE file system that never answers as its profile",
        "steps")
def profile_on_fuse(site):
    if not os.access(site.fuse, os.R_OK | os.W_OK):
        raise NotHere(f"no access to {site.fuse}")

    def serve():
        lock_memory.mount(site.fuse, site.rest_s() + 5, lock_memory.OPEN)
        time.sleep(site.rest_s() + 5)
    pid = start(serve)
    place = f"/proc/{pid}/root{lock_memory.PLACE}/file"
    return start_steps(site, [place])


@attack("mounts two thousand folders in its own namespace", "mounts")
def mount_storm(site):
    lock_memory.enter_namespaces()
    folder = pathlib.Path(site.home, "mounted")
    folder.mkdir(exist_ok=True)
    count = 0
    while site.goes_on():
        if count < 2000:
            check(libc.mount(b"/tmp", str(folder).encode(), None, MS_BIND,
                             None), "mount")
            count += 1
        else:
            time.sleep(0.01)
    return count
