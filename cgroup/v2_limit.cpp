// Limit of a job's CPU time on cgroup v2: cpu.max of the job's group.
#include "cgroup/backend_parts.h"
#include "cgroup/text_scan.h"
#include "cgroup/v2_backend.h"
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

Status V2Backend::set_cpu_limit(JobId id, const std::vector<Home>&,
                                uint32_t millicores) {
  auto job = known(id);
  if (!job) return Error{Code::kNotFound, 0, job.error().message};
  const std::string& path = (*job)->path;
  Status done = fs_->write_mark(path, mark(".job"), std::to_string(id));
  auto site = fs_->read_mark(path, mark(".max"));
  // With an unreadable mark, cpu.max may hold our own limit, not the site's.
  if (!site && site.error().code != Code::kNotFound) return site.error();
  if (done && !site) {
    const auto former = fs_->read_file(path + kMax);
    if (!former) {
      return Error{Code::kUnavailable, 0,
                   "cgroup v2 controller cpu does not reach Slurm's jobs: " +
                       former.error().message};
    }
    done = fs_->write_mark(path, mark(".max"), *former);
    site = former;
  }
  if (!done) return done;
  const auto site_millicores = millicores_of(*site);
  millicores = std::min(millicores, site_millicores.value_or(UINT32_MAX));
  return fs_->write_file(path + kMax,
                         std::to_string(limit_quota_us(millicores)) + " " +
                             std::to_string(kLimitPeriod_us));
}

Status V2Backend::restore_cpu_limit(const std::string& job) const {
  const auto former = fs_->read_mark(job, mark(".max"));
  if (!former) {
    return former.error().code == Code::kNotFound ? Status(Done{})
                                                  : Status(former.error());
  }
  Status done = fs_->write_file(job + kMax, *former);
  if (done) done = fs_->remove_mark(job, mark(".max"));
  return is_gone(done) ? Status(Done{}) : done;
}

Status V2Backend::clear_cpu_limit(JobId id, const FindHome&) {
  auto job = known(id);
  return job ? restore_cpu_limit((*job)->path) : Status(Done{});
}

}  // namespace penstock
