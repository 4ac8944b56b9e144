// MPI in a process that may be built with the address sanitizer.
#pragma once

namespace penstock::test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kMemoryIsOurs =
    false;  // the sanitizer keeps freed memory
#else
inline constexpr bool kMemoryIsOurs = true;
#endif

// MPI_Init_thread() for MPI_THREAD_MULTIPLE; leaks of Open MPI are not
// reported.
void init_mpi(int& argc, char**& argv, int& level);

// Whether memory has leaked so far, with a report; false without the sanitizer.
bool has_leaks();

}  // namespace penstock::test
