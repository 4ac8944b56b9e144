"""Spack's recipe: copy it to packages/penstock/ of a repository of recipes."""

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Penstock(CMakePackage):
    """Penstock feeds deep-learning loaders on Slurm clusters: it lends jobs'
    unused cores and storage bandwidth to jobs that wait for data."""

    # The site's own clone.
    git = "file:///usr/src/penstock"

    license("Apache-2.0")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("catch2@2.13:", type="test")

    # A plugin serves one release line of Slurm: name the external one in
    # packages.yaml.
    depends_on("slurm@22-05:")
    depends_on("cli11")
    depends_on("eigen@3.3:")
    depends_on("fmt")
    depends_on("highway")
    depends_on("hwloc@2:")
    depends_on("libcgroup")
    depends_on("libfuse@3.2:")
    depends_on("libjpeg-turbo")
    depends_on("liburing")
    depends_on("libpng")
    depends_on("libwebp")
    depends_on("libzmq")
    depends_on("lmdb")
    depends_on("mpi")
    depends_on("munge")
    depends_on("nlohmann-json")
    depends_on("py-numpy", type="run")
    depends_on("py-pybind11@2.10:", type="build")
    depends_on("python@3.10:", type=("build", "link", "run"))
    depends_on("sqlite@3.37:")
    depends_on("zlib-api")
    depends_on("systemd")
    depends_on("tomlplusplus")
    depends_on("xxhash")

    generator("ninja")

    conflicts("platform=darwin", msg="control groups are Linux's")
    conflicts("%gcc@:10", msg="std::from_chars of floating-point numbers")

    extends("python")

    def cmake_args(self):
        return [
            self.define("PENSTOCK_PACKAGED", True),
            self.define("PENSTOCK_TESTS", self.run_tests),
            self.define("PENSTOCK_PYTHON", self["python"].command.path),
            self.define("PENSTOCK_PYTHON_DIR", python_purelib),
            # Not Slurm's own folder: add this one to PluginDir= in slurm.conf,
            # which takes several.
            self.define("PENSTOCK_SLURM_PLUGIN_DIR", self.prefix.lib.slurm),
        ]

    def check(self):
        # The cluster tests need root and a running Slurm.
        with working_dir(self.build_directory):
            ctest = which("ctest", required=True)
            ctest("--output-on-failure", "-R", "^unit/|^layers", "-LE", "long|timing")
