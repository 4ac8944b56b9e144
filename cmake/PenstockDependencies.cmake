# What the build needs from the machine; tools/packages lists the Debian
# packages. Optional toolkits switch their parts off and say so.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(LIBCGROUP REQUIRED IMPORTED_TARGET libcgroup)
pkg_check_modules(TURBOJPEG REQUIRED IMPORTED_TARGET libturbojpeg)
pkg_check_modules(MUNGE REQUIRED IMPORTED_TARGET munge)
pkg_check_modules(ZMQ REQUIRED IMPORTED_TARGET libzmq)
pkg_check_modules(SQLITE3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)

# Clp is the oracle of tests and of the demo's optimum, never linked into
# what is installed.
pkg_check_modules(CLP IMPORTED_TARGET clp)
if(NOT CLP_FOUND)
  message(STATUS "Clp not found: the allocator's oracle tests are off")
endif()

find_path(SLURM_INCLUDE_DIR slurm/spank.h)
if(NOT SLURM_INCLUDE_DIR)
  message(STATUS "slurm/spank.h not found: the SPANK plugin is off")
endif()

find_program(NVCC nvcc HINTS /usr/local/cuda/bin)
if(NOT NVCC)
  message(STATUS "CUDA Toolkit not found: CUDA parts are off")
endif()
find_program(MPICXX mpicxx)
if(NOT MPICXX)
  message(STATUS "MPI not found: MPI parts are off")
endif()
find_program(PENSTOCK_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT PENSTOCK_PYTHON)
  message(STATUS "/usr/bin/python3 not found: Python parts are off")
endif()
