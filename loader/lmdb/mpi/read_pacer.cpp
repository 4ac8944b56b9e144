#include "loader/lmdb/mpi/read_pacer.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "common/clock.h"

namespace penstock::lmdb {
namespace {

constexpr uint64_t kSlice_ns = 25000000;
constexpr uint64_t kFollow_ns = 50000000;

}  // namespace

void ReadPacer::follow_hint(uint64_t now_ns) {
  uint64_t due_ns = follow_ns_;
  // Only one thread queries the hint.
  if (now_ns < due_ns ||
      !follow_ns_.compare_exchange_strong(due_ns, now_ns + kFollow_ns)) {
    return;
  }
  const std::optional<PipelineHint> hint =
      link_.hint ? link_.hint() : std::nullopt;
  const double rate =
      hint ? static_cast<double>(hint->rate_bytes_per_s) * parts_ : 0;
  bucket_.set_rate(static_cast<uint64_t>(rate), now_ns);
}

Status ReadPacer::wait(uint64_t bytes, const std::function<Status()>& look) {
  while (true) {
    const uint64_t now_ns = monotonic_ns();
    follow_hint(now_ns);
    const uint64_t wait_ns = bucket_.take(bytes, now_ns);
    if (wait_ns == 0) return Done{};
    if (Status ok = look(); !ok) return ok;
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(std::min(wait_ns, kSlice_ns)));
  }
}

}  // namespace penstock::lmdb
