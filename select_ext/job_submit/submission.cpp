#include "select_ext/job_submit/submission.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "common/options.h"
#include "common/wire_text.h"

namespace penstock::job_submit {
namespace {

// 2^(1/8), written out so that the limits are compile-time constants.
constexpr double kStep = 1.0905077326652577;

constexpr std::array<uint64_t, kBuckets> make_limits() {
  std::array<uint64_t, kBuckets> limits{};
  double limit_ns = 1000;
  for (uint64_t& limit : limits) {
    limit = static_cast<uint64_t>(limit_ns);
    limit_ns *= kStep;
  }
  limits[kBuckets - 1] = UINT64_MAX;
  return limits;
}
constexpr auto kLimits = make_limits();

// The largest weight that penstock.conf accepts.
constexpr OptionLimits kAnyLimits{1000};

Error refused(const char* field, const char* allowed) {
  return invalid(std::string("submission: ") + field +
                 ": not valid; allowed: " + allowed);
}

Status check_texts(const Submission& it) {
  std::string_view text;
  if (!printable_field(it.job_name, text) ||
      !printable_field(it.partition, text) ||
      !printable_field(it.account, text) || !printable_field(it.gpu_type, text))
    return refused("text", "printable ASCII, padded with NULs");
  return Done{};
}

Status check_numbers(const Submission& it) {
  if (it.kind != kSubmitted && it.kind != kModified)
    return refused("kind", "1 or 2");
  if ((it.kind == kSubmitted) != (it.job_id == 0))
    return refused("job_id", "0 for a submission, else a job's number");
  if (it.managed > 1) return refused("managed", "0 or 1");
  if (it.nodes == 0 || it.tasks_per_node == 0)
    return refused("nodes or tasks_per_node", "1 and more");
  if (it.number == 0) return refused("number", "1 and more");
  return Done{};
}

}  // namespace

Result<Submission> decode_submission(std::span<const std::byte> packet) {
  Submission it{};
  if (packet.size() != sizeof it)
    return invalid("submission: " + std::to_string(packet.size()) +
                   " bytes; allowed: " + std::to_string(sizeof it));
  std::memcpy(&it, packet.data(), sizeof it);
  if (it.magic != kSubmissionMagic || it.version != kSubmissionVersion ||
      it.size_bytes != sizeof it)
    return refused("header", "that of version 1");
  if (Status status = check_numbers(it); !status)
    return std::move(status).error();
  if (Status status = check_texts(it); !status)
    return std::move(status).error();
  if (Status status = check_options(it.options, kAnyLimits); !status)
    return std::move(status).error().wrap("submission");
  return it;
}

uint64_t bucket_limit_ns(size_t bucket) { return kLimits[bucket]; }

size_t bucket_of(uint64_t duration_ns) {
  return static_cast<size_t>(
      std::lower_bound(kLimits.begin(), kLimits.end(), duration_ns) -
      kLimits.begin());
}

uint64_t hook_quantile_ns(const HookStatistics& before,
                          const HookStatistics& after, double share) {
  uint64_t all = 0;
  for (size_t i = 0; i < kBuckets; ++i)
    all += after.buckets[i] - before.buckets[i];
  if (all == 0) return 0;
  const double wanted = static_cast<double>(all) * share;
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += after.buckets[i] - before.buckets[i];
    if (static_cast<double>(seen) >= wanted) return bucket_limit_ns(i);
  }
  return bucket_limit_ns(kBuckets - 1);
}

}  // namespace penstock::job_submit
