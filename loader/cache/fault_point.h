// Points at which a test can stop or kill a process. They exist only in the
// library built with PENSTOCK_FAULT_POINTS.
#pragma once

namespace penstock {

#ifdef PENSTOCK_FAULT_POINTS
void fault_point(const char* name);  // defined by the test
#else
inline void fault_point(const char*) {}
#endif

}  // namespace penstock
