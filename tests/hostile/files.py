"""Attacks by files: reports, caches, and paths that penstockd reads or
removes."""

import errno
import itertools
import os
import pathlib
import select
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
        jobs = [entry.path for entry in os.scandir(site.reports)
                if entry.is_dir()]
        for folder in (site.reports, *jobs, *site.state):
            names = names_in(folder)
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


def names_in(folder):
    """The paths of a folder's entries; none if it is another user's."""
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except PermissionError:
        return []


def refused(call):
    try:
        call()
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOENT,
                           errno.EINVAL, errno.ENXIO, errno.EROFS,
                           errno.EISDIR):
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


@attack("replaces its profile by FIFOs, folders, devices, loops and huge files "
        "once srun has checked it", "steps")
def profile_paths(site):
    home = pathlib.Path(site.home)
    good, fifo, loop, huge = (home / name for name in
                              ("good", "fifo", "loop", "huge"))
    for path in (fifo, loop, huge):
        path.unlink(missing_ok=True)
    good.write_text("no profile", "ascii")
    os.mkfifo(fifo)
    loop.symlink_to(loop)
    with open(huge, "wb") as file:
        file.truncate(1 << 40)
    count = 0
    for bad in itertools.cycle((fifo, huge, home, "/dev/zero", loop,
                                "/proc/kmsg", "/proc/self/mem")):
        profile = home / "profile"
        place(profile, good)
        step = start_step(profile)
        time.sleep(0.05)  # srun checks its options at once
        place(profile, bad)
        step.wait(60)
        count += 1
        if not site.goes_on():
            return count


def place(link, target):
    new = link.with_suffix(".new")
    new.symlink_to(target)
    new.rename(link)


def start_step(profile):
    return subprocess.Popen(
        ["srun", "--overlap", "-N1", "-n1", "--quiet", "--loader=auto",
         f"--loader-model={profile}", "true"], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@attack("has its profile read from a FUSE file system that never answers",
        "steps")
def profile_on_fuse(site):
    if not os.access(site.fuse, os.R_OK | os.W_OK):
        raise NotHere(f"no access to {site.fuse}")
    reader, writer = os.pipe()

    def serve():
        lock_memory.mount(60, site.fuse, lambda: os.write(writer, b"x"))
        time.sleep(60)
    pid = start(serve)
    profile = f"/proc/{pid}/root{lock_memory.PLACE}/file"
    # A second srun would itself wait for the page that the first read locks.
    start_step(profile).wait(60)
    return len(select.select([reader], [], [], 5)[0])


@attack("mounts two thousand folders in its own namespace", "mounts")
def mount_storm(site):
    lock_memory.enter_namespaces()
    # On itself: a folder with mounts of the machine below may not be copied.
    folder = pathlib.Path(site.home, "mounted")
    folder.mkdir(exist_ok=True)
    path = str(folder).encode()
    count = 0
    while site.goes_on():
        if count < 2000:
            check(libc.mount(path, path, None, MS_BIND, None), "mount")
            count += 1
        else:
            time.sleep(0.01)
    return count
