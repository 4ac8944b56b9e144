// Where a test lets a process end: only in the library that is compiled for
// such tests; else nothing.
#pragma once

namespace penstock {

#ifdef PENSTOCK_FAULT_POINTS
void fault_point(const char* name);  // the test's
#else
inline void fault_point(const char*) {}
#endif

}  // namespace penstock
