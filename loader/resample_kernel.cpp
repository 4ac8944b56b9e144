#include "loader/resample_kernel.h"

// Clang knows no target for a part of a file, and is for the fuzz targets.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PENSTOCK_HAS_AVX2
#include <immintrin.h>
#endif

namespace penstock {

namespace portable {
#define PENSTOCK_KERNEL_AVX2 0
#include "loader/resample_kernel.inc"
#undef PENSTOCK_KERNEL_AVX2
}  // namespace portable

#if defined(PENSTOCK_HAS_AVX2)
#pragma GCC push_options
#pragma GCC target("avx2")
namespace avx2 {
#define PENSTOCK_KERNEL_AVX2 1
#include "loader/resample_kernel.inc"
#undef PENSTOCK_KERNEL_AVX2
}  // namespace avx2
#pragma GCC pop_options
#endif

const ResampleKernel& portable_kernel() { return portable::kKernel; }

const ResampleKernel& best_kernel() {
#if defined(PENSTOCK_HAS_AVX2)
  if (__builtin_cpu_supports("avx2")) return avx2::kKernel;
#endif
  return portable::kKernel;
}

}  // namespace penstock
