#include "cgroup/v2_limit.h"

#include "cgroup/backend_parts.h"
#include "common/text_scan.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr const char* kMax = "/cpu.max";

// Parses cpu.max ("50000 100000"); nullopt: no limit ("max 100000").
std::optional<uint32_t> millicores_of(std::string_view text) {
  const auto quota_us = parse_uint(take_word(text), 1, UINT32_MAX);
  const auto period_us = parse_uint(take_word(text), 1, UINT32_MAX);
  if (!quota_us || !period_us) return std::nullopt;
  return uint32_t(
      std::min<uint64_t>(*quota_us * 1000 / *period_us, UINT32_MAX));
}

}  // namespace

Status write_cpu_limit(const V2Tree& tree, JobId id, const std::string& job,
                       uint32_t millicores) {
  Status done = tree.mark_job(job, id);
  auto site = tree.fs->read_mark(job, tree.mark(".max"));
  // With an unreadable mark, cpu.max may hold our own limit, not the site's.
  if (!site && site.error().code != Code::kNotFound) return site.error();
  if (done && !site) {
    const auto former = tree.fs->read_file(job + kMax);
    if (!former) {
      return Error{Code::kUnavailable, 0,
                   "cgroup v2 controller cpu does not reach Slurm's jobs: " +
                       former.error().message};
    }
    done = tree.fs->write_mark(job, tree.mark(".max"), *former);
    site = former;
  }
  if (!done) return done;
  const auto site_millicores = millicores_of(*site);
  millicores = std::min(millicores, site_millicores.value_or(UINT32_MAX));
  return tree.fs->write_file(job + kMax,
                             std::to_string(limit_quota_us(millicores)) + " " +
                                 std::to_string(kLimitPeriod_us));
}

Status restore_cpu_limit(const V2Tree& tree, const std::string& job) {
  return tree.restore_marked(job, kMax, ".max");
}

}  // namespace penstock
