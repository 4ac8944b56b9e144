"""The guest's disk: Debian with systemd, Slurm and munge, and the packages
and tests under test."""

import pathlib
import shutil

import packages
import roots

HERE = pathlib.Path(__file__).resolve().parent
IMAGE_MIB = 4096
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
# When the first cpuset appears and when the last one vanishes, the kernel
# patches its page allocator, which runs constantly. QEMU 7.2 sometimes fails at
# that. So one cpuset exists from boot to shutdown.
CPUSET_UNIT = """\
[Unit]
Description=A cpuset that stays

[Slice]
AllowedCPUs=0

[Install]
WantedBy=multi-user.target
"""
# Parts of the source tree that the tests in the guest use.
TREES = ["tests/cluster", "tests/hostile", "tests/site", "libpenstock/python",
         "slurm_conf_examples", "docs"]
# Installed files that the tests expect in a build directory.
INSTALLED = {"bin": ["/usr/bin/penstock", "/usr/bin/penstock-train",
                     "/usr/sbin/penstockd", "/usr/sbin/penstockctld"],
             "lib": ["{plugins}/spank_penstock.so",
                     "{plugins}/job_submit_penstock.so"]}
PLUGINS = "/usr/lib/x86_64-linux-gnu/slurm-wlm"
FAKE_NVML = "tests/fake_nvml"


def prepare(root):
    """Makes a machine that boots without a network and accepts commands."""
    roots.write(root, "etc/hostname", "vm\n")
    roots.write(root, "etc/hosts", "127.0.0.1 localhost vm\n")
    roots.write(root, "etc/fstab", "")
    # Names are resolved only if an interface has an address.
    roots.write(root, "etc/systemd/network/10-dummy.netdev",
                "[NetDev]\nName=dummy0\nKind=dummy\n")
    roots.write(root, "etc/systemd/network/10-dummy.network",
                "[Match]\nName=dummy0\n[Network]\nAddress=192.0.2.1/24\n")
    roots.write(root, "etc/systemd/system/penstock-shell.service", SHELL_UNIT)
    roots.write(root, "etc/systemd/system/cpuset.slice", CPUSET_UNIT)
    # Tests start their own services; the site's test enables a site's.
    roots.inside(root, """
        passwd -d root
        systemctl enable penstock-shell.service systemd-networkd.service \
            cpuset.slice
        for unit in slurmctld slurmd slurmdbd mariadb munge apt-daily.timer \
            apt-daily-upgrade.timer e2scrub_all.timer dpkg-db-backup.timer \
            systemd-networkd-wait-online; do
          systemctl disable $unit || true
        done
        apt-get -qq update""")


def base(cache, suite):
    """The guest's root without Penstock."""
    root = roots.make(cache, suite, "guest", prepare)
    roots.check_slurm(root, suite, "slurmd")
    return root


def satisfy(root, debs, more):
    """Installs the packages' dependencies, so that apt can install the
    packages in the guest, which has no network; also MORE packages of
    Debian."""
    wanted = ", ".join([packages.dependencies(debs), *more])
    said = root / "etc/penstock-dependencies"
    if said.exists() and said.read_text("utf-8") == wanted:
        return
    roots.inside(root, "apt-get -qq satisfy -y --no-install-recommends "
                 f"'{wanted}'")
    said.write_text(wanted, "utf-8")


def kernel_of(root):
    """(kernel, initial RAM disk) of a root file system."""
    boot = root / "boot"
    return (sorted(boot.glob("vmlinuz-*"))[-1],
            sorted(boot.glob("initrd.img-*"))[-1])


def install_tests(tree, debs, objects):
    """Copies the packages, not yet installed, and the tests to the paths of
    their build."""
    (tree / "root/debs").mkdir()
    for deb in debs:
        shutil.copy(deb, tree / "root/debs")
    source = tree / packages.SOURCE.lstrip("/")
    for name in TREES:
        if (roots.ROOT / name).exists():
            shutil.copytree(roots.ROOT / name, source / name,
                            ignore=shutil.ignore_patterns("__pycache__"))
    build = tree / packages.OBJECTS.lstrip("/")
    shutil.copytree(objects / FAKE_NVML, build / FAKE_NVML)
    for kind, files in INSTALLED.items():
        (build / kind).mkdir(parents=True)
        targets = [name.format(plugins=PLUGINS) for name in files]
        names = {pathlib.Path(name).name for name in targets}
        for target in targets:
            (build / kind / pathlib.Path(target).name).symlink_to(target)
        for path in (objects / kind).iterdir():
            if path.name not in names:
                shutil.copy(path, build / kind)
                if not path.is_symlink():
                    roots.run(["strip", build / kind / path.name])


def make(root, work, debs, objects):
    """An ext4 image of the root, with packages and tests."""
    tree = work / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    roots.run(["cp", "-a", "--reflink=auto", root, tree])
    shell = tree / "usr/local/lib/penstock-vm"
    shell.mkdir(parents=True)
    shutil.copy(HERE / "shell.py", shell)
    install_tests(tree, debs, objects)
    image = work / "root.img"
    image.unlink(missing_ok=True)
    with open(image, "wb") as file:
        file.truncate(IMAGE_MIB << 20)
    roots.run(["mke2fs", "-q", "-t", "ext4", "-d", tree, image])
    shutil.rmtree(tree)
    return image
