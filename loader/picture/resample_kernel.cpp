#include "loader/picture/resample_kernel.h"

#if defined(__x86_64__)
#define PENSTOCK_HAS_AVX2
#include <immintrin.h>
#endif

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)  // GCC 11 does not have it
#define PENSTOCK_HAS_SHUFFLE 1
#endif
#endif

namespace penstock {

namespace portable {
#define PENSTOCK_KERNEL_AVX2 0
#include "loader/picture/resample_kernel.inc"
#undef PENSTOCK_KERNEL_AVX2
}  // namespace portable

#if defined(PENSTOCK_HAS_AVX2)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
namespace avx2 {
#define PENSTOCK_KERNEL_AVX2 1
#include "loader/picture/resample_kernel.inc"
#undef PENSTOCK_KERNEL_AVX2
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

const ResampleKernel& portable_kernel() { return portable::kKernel; }

const ResampleKernel& best_kernel() {
#if defined(PENSTOCK_HAS_AVX2)
  if (__builtin_cpu_supports("avx2")) return avx2::kKernel;
#endif
  return portable::kKernel;
}

}  // namespace penstock
