#include "bench/loader/program/measured.h"

#include <cstdio>

#include "common/clock.h"

namespace penstock {
namespace {

Result<uint64_t> run_for(double seconds,
                         const std::function<Result<uint64_t>()>& step) {
  const uint64_t end_ns = monotonic_ns() + static_cast<uint64_t>(seconds * 1e9);
  uint64_t sum = 0;
  while (monotonic_ns() < end_ns) {
    const Result<uint64_t> done = step();
    if (!done) return done.error();
    sum += *done;
  }
  return sum;
}

}  // namespace

Status run_measured(const MeasuredTime& time,
                    const std::function<Result<uint64_t>()>& step) {
  const Result<uint64_t> warm = run_for(time.warm_s, step);
  if (!warm) return warm.error();
  std::puts("begin");
  std::fflush(stdout);
  const Result<uint64_t> measured = run_for(time.measured_s, step);
  if (!measured) return measured.error();
  std::printf("end %llu\n", static_cast<unsigned long long>(*measured));
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return Done{};
}

}  // namespace penstock
