"""The guest's root file system: Debian with systemd, Slurm and munge, made by
debootstrap once and kept, and an image of it with what is to be tested."""

import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

PACKAGES = ["systemd", "systemd-sysv", "udev", "linux-image-cloud-amd64",
            "slurmctld", "slurmd", "slurm-client", "munge", "iproute2", "dbus",
            "procps", "python3", "kmod", "passwd",
            # What the host's build of Penstock links.
            "libzmq5", "libsqlite3-0", "libhwloc15", "libcgroup2", "libfmt9",
            "libmunge2", "libturbojpeg0"]
SUITE = "bookworm"  # the host's, as that build is tested
IMAGE_MIB = 3072
SHELL_UNIT = """\
[Unit]
Description=Commands from the host
After=multi-user.target

[Service]
ExecStart=/usr/bin/python3 /usr/local/lib/penstock-vm/shell.py
Restart=always
KillMode=process

[Install]
WantedBy=multi-user.target
"""


def run(argv, log=None, **more):
    """Runs it; an error has the end of what it printed."""
    done = subprocess.run([str(word) for word in argv], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **more)
    text = done.stdout.decode("utf-8", "replace")
    if log is not None:
        pathlib.Path(log).write_text(text, "utf-8")
    if done.returncode != 0:
        raise RuntimeError(f"{argv[0]}: status {done.returncode}\n"
                           + "\n".join(text.splitlines()[-20:]))
    return text


def base(cache):
    """The directory with the release's root file system; made where it is
    missing, whole or not at all."""
    root = cache / f"root-{SUITE}"
    if root.exists():
        return root
    cache.mkdir(parents=True, exist_ok=True)
    new = cache / f"root-{SUITE}.new"
    shutil.rmtree(new, ignore_errors=True)
    run(["debootstrap", "--variant=minbase", "--include=" + ",".join(PACKAGES),
         SUITE, new], cache / f"debootstrap-{SUITE}.log")
    prepare(new)
    new.rename(root)
    return root


def write(root, path, text):
    """A file of the guest's."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def prepare(root):
    """A machine that boots without network and takes commands."""
    write(root, "etc/hostname", "vm\n")
    write(root, "etc/hosts", "127.0.0.1 localhost vm\n")
    write(root, "etc/fstab", "")
    # Names are looked up only where an interface has an address.
    write(root, "etc/systemd/network/10-dummy.netdev",
          "[NetDev]\nName=dummy0\nKind=dummy\n")
    write(root, "etc/systemd/network/10-dummy.network",
          "[Match]\nName=dummy0\n[Network]\nAddress=192.0.2.1/24\n")
    write(root, "etc/systemd/system/penstock-shell.service", SHELL_UNIT)
    run(["chroot", root, "systemctl", "enable", "penstock-shell.service",
         "systemd-networkd.service"])
    # Tests start their own; the site test enables them.
    for unit in ("slurmctld", "slurmd", "munge", "apt-daily.timer",
                 "apt-daily-upgrade.timer", "e2scrub_all.timer",
                 "systemd-networkd-wait-online"):
        subprocess.run(["chroot", str(root), "systemctl", "disable", unit],
                       capture_output=True, check=False)
    run(["chroot", root, "passwd", "-d", "root"])


def kernel_of(root):
    """(kernel, initial RAM disk) of a root file system."""
    boot = root / "boot"
    return (sorted(boot.glob("vmlinuz-*"))[-1],
            sorted(boot.glob("initrd.img-*"))[-1])


def make(root, work, install):
    """An ext4 image of root with what install(directory) adds."""
    tree = work / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    run(["cp", "-a", "--reflink=auto", root, tree])
    shell = tree / "usr/local/lib/penstock-vm"
    shell.mkdir(parents=True)
    shutil.copy(HERE / "shell.py", shell)
    install(tree)
    image = work / "root.img"
    image.unlink(missing_ok=True)
    with open(image, "wb") as file:
        file.truncate(IMAGE_MIB << 20)
    run(["mke2fs", "-q", "-t", "ext4", "-d", tree, image])
    shutil.rmtree(tree)
    return image
