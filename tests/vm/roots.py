"""Root file systems of Debian's releases, made by debootstrap and kept: one
for building Penstock's packages, one for booting a guest."""

import os
import pathlib
import shutil
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The release of Slurm in each release of Debian, as `major.minor`.
SLURM = {"bookworm": "22.05", "trixie": "24.11", "sid": "26.05"}
BUILD_PACKAGES = ["build-essential", "ccache", "debhelper", "dpkg-dev",
                  "fakeroot"]
GUEST_PACKAGES = ["systemd", "systemd-sysv", "udev", "linux-image-cloud-amd64",
                  "slurmctld", "slurmd", "slurmdbd", "slurm-client", "munge",
                  "mariadb-server", "iproute2", "dbus", "procps", "python3",
                  "kmod", "passwd", "e2fsprogs", "binutils"]


class Unprepared(Exception):
    """The reason why there is no guest; not a failure."""


def run(argv, log=None, **more):
    """Runs a command; returns its output. An error has the end of the
    output. On an exception, all processes that it started are killed."""
    process = subprocess.Popen([str(word) for word in argv],
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT,
                               start_new_session=True, **more)
    try:
        output, _ = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    text = output.decode("utf-8", "replace")
    if log is not None:
        pathlib.Path(log).write_text(text, "utf-8")
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, argv[:4]))}: status "
                           f"{process.returncode}\n"
                           + "\n".join(text.splitlines()[-40:]))
    return text


def inside(root, command, log=None, binds=()):
    """Runs a shell command in the root. Only the command sees its mounts,
    /proc and BINDS (outside, inside); they vanish with it, even if it is
    killed."""
    mounts = [f"mount -t proc proc '{root}/proc'"]
    for outside, there in binds:
        target = root / there.lstrip("/")
        target.mkdir(parents=True, exist_ok=True)
        mounts.append(f"mount --bind '{outside}' '{target}'")
    script = "\n".join([*mounts, f"exec chroot '{root}' /bin/sh -ec \"$0\""])
    return run(["unshare", "--mount", "--propagation", "private", "sh", "-ec",
                script, f"export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8"
                f"\n{command}"], log)


def write(root, path, text):
    """Writes a file in the root."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def make(cache, suite, kind, prepare):
    """The directory KIND-SUITE. If missing, it is made completely or not at
    all; prepare(directory) finishes it."""
    packages = {"build": BUILD_PACKAGES, "guest": GUEST_PACKAGES}[kind]
    root = cache / f"{kind}-{suite}"
    if root.exists():
        return root
    cache.mkdir(parents=True, exist_ok=True)
    new = cache / f"{kind}-{suite}.new"
    shutil.rmtree(new, ignore_errors=True)
    try:
        # debootstrap mounts /proc, which must vanish even if debootstrap is
        # killed.
        run(["unshare", "--mount", "--propagation", "private", "debootstrap",
             "--variant=minbase", "--include=" + ",".join(packages), suite,
             new], cache / f"debootstrap-{kind}-{suite}.log")
    except RuntimeError as error:
        raise Unprepared(f"no root of Debian {suite}; without its archive "
                         f"none can be made: {error}") from error
    # A weeks-old copy of the archive is sufficient.
    write(new, "etc/apt/apt.conf.d/99archive",
          'Acquire::Check-Valid-Until "false";\nAcquire::Retries "5";\n')
    prepare(new)
    new.rename(root)
    return root


def check_slurm(root, suite, package):
    """Raises Unprepared if the archive's Slurm is not the release of our
    build."""
    text = inside(root, f"apt-cache policy {package}")
    version = next(line.split()[1] for line in text.splitlines()
                   if "Candidate:" in line)
    if not version.startswith(SLURM[suite] + "."):
        raise Unprepared(f"Debian {suite} has Slurm {version} now, not "
                         f"{SLURM[suite]}")
