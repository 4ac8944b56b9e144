#include "tests/unit/lmdb_mpi/sanitized_mpi.h"

#include <mpi.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>

extern "C" const char* __lsan_default_suppressions() {
  return "leak:libpmix.so";
}
extern "C" const char* __lsan_default_options() {
  return "print_suppressions=0";
}

namespace penstock::test {

void init_mpi(int& argc, char**& argv, int& level) {
  // Most leaks are from here, by modules unloaded before the report.
  const __lsan::ScopedDisabler not_ours;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
}

bool has_leaks() { return __lsan_do_recoverable_leak_check() != 0; }

}  // namespace penstock::test
#else
namespace penstock::test {

void init_mpi(int& argc, char**& argv, int& level) {
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
}

bool has_leaks() { return false; }

}  // namespace penstock::test
#endif
