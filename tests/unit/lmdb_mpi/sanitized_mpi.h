// MPI in a process that may be built with the address sanitizer.
#pragma once

namespace penstock::test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kMemoryIsOurs = false;  // it keeps what was freed
#else
inline constexpr bool kMemoryIsOurs = true;
#endif

// MPI_Init_thread() for MPI_THREAD_MULTIPLE; what Open MPI never frees is not
// taken for ours.
void init_mpi(int& argc, char**& argv, int& level);

// What is lost by now, and says so; false without the sanitizer.
bool has_leaks();

}  // namespace penstock::test
