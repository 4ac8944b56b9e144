// --loader-advise: sbatch prints the advice of `penstock advise`.
#pragma once

namespace penstock::spank {

inline constexpr int kAdvise_ms = 15'000;

// Runs `penstock advise` on this process's own command line, if it is sbatch's.
// The advice goes to standard error. Waits at most kAdvise_ms for it, then ends
// it. Whatever happens, the submission goes on; a failure is logged in one
// line.
void print_advice();

}  // namespace penstock::spank
