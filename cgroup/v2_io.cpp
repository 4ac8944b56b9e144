// I/O limits on cgroup v2: io.max of the job's group.
#include <algorithm>

#include "cgroup/backend_parts.h"
#include "cgroup/text_scan.h"
#include "cgroup/v1_parse.h"
#include "cgroup/v2_backend.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr const char* kMax = "/io.max";

}  // namespace

// Unknown jobs give kNotFound: add_task() reported their missing Slurm group.
Result<V2Backend::KnownJob*> V2Backend::limited(JobId id) {
  auto job = known(id);
  if (!job) job.error().code = Code::kNotFound;
  return job;
}

// Slurm 25.05 and later enable io for jobs if so configured. Otherwise it is
// enough to enable io in the scope that systemd has delegated. That fails
// unless the groups above have io, which systemd enables for IOAccounting=yes.
Status V2Backend::require_io(const KnownJob& job) {
  if (fs_->exists(job.path + kMax)) return Done{};
  const std::string scope = job.path.substr(0, job.path.rfind('/'));
  const std::string file = scope + "/cgroup.subtree_control";
  const auto enabled_there = fs_->read_file(file);
  // io enabled in the scope reaches every group below it. So without io.max the
  // job's group is gone.
  if (!fs_->exists(job.path) ||
      (enabled_there && has_word(*enabled_there, "io"))) {
    return Error{Code::kNotFound, ENOENT, job.path + " has ended"};
  }
  Status enabled = fs_->write_mark(scope, mark(".io"), "+io");
  if (enabled) enabled = fs_->write_file(file, "+io");
  if (!enabled) (void)fs_->remove_mark(scope, mark(".io"));
  if (enabled && fs_->exists(job.path + kMax)) return Done{};
  return Error{Code::kUnavailable, 0,
               "cgroup v2 controller io does not reach Slurm's jobs: add the "
               "lines EnableControllers=yes and EnableExtraControllers=io to "
               "cgroup.conf (from Slurm 25.05 on), or before that the line "
               "IOAccounting=yes to the section [Service] of a drop-in of "
               "slurmd.service; then restart slurmd" +
                   (enabled ? "" : " (" + enabled.error().message + ")")};
}

Status V2Backend::attach_io(JobId job, const Home& home) {
  Status done = proc_->verify(home.task);
  if (!done) return done;
  auto found = limited(job);
  if (!found) return std::move(found).error();
  return require_io(**found);
}

Status V2Backend::write_limit(const std::string& job, const std::string& device,
                              uint64_t rate_bytes_per_s) {
  Status done = fs_->write_file(
      job + kMax, device + " rbps=" + std::to_string(rate_bytes_per_s));
  const int why = done ? 0 : done.error().saved_errno;
  if (why == ENODEV || why == ENXIO || why == EINVAL) return bad_device(device);
  return done;
}

// The site's own limits of the job, by device: bytes/s, or "max".
std::map<std::string, std::string> V2Backend::former_limits(
    const std::string& job) const {
  std::map<std::string, std::string> former;
  const auto marked = fs_->read_mark(job, mark(".io"));
  std::string_view rest = marked ? std::string_view(*marked) : "";
  for (auto device = take_word(rest); !device.empty();
       device = take_word(rest)) {
    former.emplace(device, take_word(rest));
  }
  return former;
}

Status V2Backend::mark_limits(
    const std::string& job,
    const std::map<std::string, std::string>& former) const {
  std::string text;
  for (const auto& [device, rate] : former) {
    text.append(device).append(" ").append(rate).append(" ");
  }
  return text.empty() ? fs_->remove_mark(job, mark(".io"))
                      : fs_->write_mark(job, mark(".io"), text);
}

// Records the site's own limit (set by a prolog, for example) in the mark.
// Returns the rate to write: the lower of the site's and ours.
Result<uint64_t> V2Backend::mark_limit(const std::string& job,
                                       const std::string& device,
                                       uint64_t rate_bytes_per_s) const {
  auto former = former_limits(job);
  if (!former.contains(device)) {
    auto text = fs_->read_file(job + kMax);
    if (!text) return std::move(text).error();
    const auto rate = io_figure(*text, device, "rbps");
    former[device] = rate ? std::to_string(*rate) : "max";
    Status done = mark_limits(job, former);
    if (!done) return std::move(done).error();
  }
  const auto own = parse_uint(former[device], 1, UINT64_MAX);
  return own ? std::min(*own, rate_bytes_per_s) : rate_bytes_per_s;
}

Status V2Backend::restore_limit(const std::string& job,
                                const std::string& device) const {
  auto former = former_limits(job);
  const auto found = former.find(device);
  if (found == former.end()) return Done{};
  Status done = without_limit(
      fs_->write_file(job + kMax, device + " rbps=" + found->second));
  if (!done) return done;
  former.erase(found);
  return without_limit(mark_limits(job, former));
}

// Also writes the marks from which a later run can lift the limit.
Status V2Backend::put_limit(JobId id, KnownJob& job, const std::string& device,
                            uint64_t rate_bytes_per_s) {
  Status done = fs_->write_mark(job.path, mark(".job"), std::to_string(id));
  if (!done) return done;
  const auto rate = mark_limit(job.path, device, rate_bytes_per_s);
  if (!rate) return rate.error();
  done = write_limit(job.path, device, *rate);
  if (done) job.limits[device] = {rate_bytes_per_s, *rate};
  return done;
}

Status V2Backend::set_io_limit(JobId id, std::string_view device,
                               uint64_t rate_bytes_per_s) {
  if (!is_device(device)) return bad_device(device);
  if (rate_bytes_per_s == 0) return invalid("an I/O limit of 0 bytes/s");
  auto job = limited(id);
  if (!job) return std::move(job).error();
  Status done = look_at_limits(**job);
  if (done) done = require_io(**job);
  if (!done) return done;
  return put_limit(id, **job, std::string(device), rate_bytes_per_s);
}

// A limit that differs from our last write comes from the site. It is recorded
// as the site's own limit; the lower of both stays in force.
Status V2Backend::look_at_limits(KnownJob& job) const {
  if (job.limits.empty() || !fs_->exists(job.path + kMax)) return Done{};
  auto text = fs_->read_file(job.path + kMax);
  if (!text) return without_limit(std::move(text).error());
  auto former = former_limits(job.path);
  auto limits = job.limits;
  bool any = false;
  for (auto& [device, limit] : limits) {
    const auto now = io_figure(*text, device, "rbps");
    if (now == limit.written_bytes_per_s) continue;
    any = true;
    former[device] = now ? std::to_string(*now) : "max";
    limit.written_bytes_per_s =
        std::min(now.value_or(UINT64_MAX), limit.wanted_bytes_per_s);
  }
  if (!any) return Done{};
  Status done = without_limit(mark_limits(job.path, former));
  if (done) job.limits = std::move(limits);
  return done;
}

// Disabling and re-enabling io in the scope drops every limit. A guardian
// process that has restored everything has removed the marks too.
Status V2Backend::restore_limits(JobId id, KnownJob& job) {
  if (job.limits.empty() || !fs_->exists(job.path)) return Done{};
  Status first = look_at_limits(job);
  if (first) first = require_io(job);
  if (!first) return without_limit(std::move(first));
  auto text = fs_->read_file(job.path + kMax);
  if (!text) return without_limit(std::move(text).error());
  for (const auto& [device, limit] : std::map(job.limits)) {
    const auto now = io_figure(*text, device, "rbps");
    if (now == limit.written_bytes_per_s) continue;
    note_first(first, without_limit(put_limit(id, job, device,
                                              limit.wanted_bytes_per_s)));
  }
  return first;
}

Status V2Backend::clear_io_limit(JobId id, std::string_view device) {
  if (!is_device(device)) return bad_device(device);
  auto job = known(id);
  if (!job) return Done{};
  Status done = look_at_limits(**job);
  (*job)->limits.erase(std::string(device));
  note_first(done, restore_limit((*job)->path, std::string(device)));
  return done;
}

Result<uint64_t> V2Backend::io_read_bytes(JobId id,
                                          std::string_view device) const {
  if (!is_device(device)) return bad_device(device);
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) {
    return Error{Code::kUnavailable, 0, "no such job is known here"};
  }
  auto text = fs_->read_file(job->second.path + "/io.stat");
  if (!text) return std::move(text).error();
  return io_figure(*text, device, "rbytes").value_or(0);
}

}  // namespace penstock
