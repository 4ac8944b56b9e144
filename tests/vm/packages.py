"""Penstock's packages for a release of Debian, built in a root of it from
the files of this source tree, committed or not."""

import os
import re

import roots

WORK = "/penstock"  # in the root; the guest has the same paths
SOURCE = f"{WORK}/penstock"
OBJECTS = f"{SOURCE}/obj-x86_64-linux-gnu"


def prepare(root):
    roots.inside(root, "apt-get -qq update")


def build(cache, suite):
    """(packages, directory of the build's objects): the *.deb files from
    dpkg-buildpackage, after its unit tests, without lintian errors. Takes
    minutes with a warm ccache, half an hour without."""
    root = roots.make(cache, suite, "build", prepare)
    roots.check_slurm(root, suite, "libslurm-dev")
    control = (roots.ROOT / "packaging/debian/control").read_text("utf-8")
    roots.write(root, "var/tmp/needs/debian/control", control)
    roots.inside(root, "apt-get -qq build-dep -y --no-install-recommends "
                 "/var/tmp/needs; "
                 "apt-get -qq install -y --no-install-recommends lintian")
    output = cache / f"debs-{suite}"
    for old in output.glob("*"):
        old.unlink()
    roots.run([roots.ROOT / "packaging/build-deb", "--root", root, "--output",
               output, "--work", WORK], cache / f"build-{suite}.log",
              env=dict(os.environ, DEB_BUILD_OPTIONS="noautodbgsym"))
    roots.inside(root, "lintian --allow-root --fail-on error "
                 "/var/tmp/debs/*.changes", binds=[(output, "/var/tmp/debs")])
    debs = [path for path in sorted(output.glob("*.deb"))
            if "-dbgsym" not in path.name]
    return debs, root / OBJECTS.lstrip("/")


def dependencies(packages):
    """The packages' dependencies in Debian, in the format of apt-get
    satisfy."""
    own = {path.name.split("_")[0] for path in packages}
    found = set()
    for path in packages:
        text = roots.run(["dpkg-deb", "--field", path, "Pre-Depends",
                          "Depends"])
        for field in re.findall(r"(?m)^(?:Pre-)?Depends: (.*)$", text):
            found |= {one for one in re.split(r",\s*", field)
                      if re.match(r"[^ (|]+", one).group() not in own}
    return ", ".join(sorted(found))


def libraries(cache, suite, objects):
    """Debian's libraries that only the tests' programs and libraries link:
    no package depends on them."""
    root = roots.make(cache, suite, "build", prepare)
    names = [f"{OBJECTS}/{kind}/{path.name}" for kind in ("bin", "lib")
             for path in (objects / kind).iterdir()
             if not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"]
    # dpkg-shlibdeps requires a debian/control beside it.
    said = roots.inside(root, "cd /var/tmp/needs; dpkg-shlibdeps -O "
                        f"--ignore-missing-info -l{OBJECTS}/lib "
                        f"{' '.join(sorted(names))}")
    found = re.search(r"(?m)^shlibs:Depends=(.*)$", said)
    return re.split(r",\s*", found.group(1)) if found else []
