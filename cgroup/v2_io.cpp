// I/O limits on cgroup v2: at the job.
#include "cgroup/backend_parts.h"
#include "cgroup/text_scan.h"
#include "cgroup/v1_parse.h"
#include "cgroup/v2_backend.h"

namespace penstock {
namespace {

constexpr const char* kMax = "/io.max";

}  // namespace

// Slurm enables io for its jobs from 25.05 on, where it is told to; elsewhere
// it is enough to enable it in the scope that systemd has delegated.
Status V2Backend::require_io(const KnownJob& job) {
  if (fs_->exists(job.path + kMax)) return Done{};
  const std::string scope = job.path.substr(0, job.path.rfind('/'));
  Status enabled = fs_->write_file(scope + "/cgroup.subtree_control", "+io");
  if (enabled) enabled = fs_->write_mark(scope, mark(".io"), "+io");
  if (enabled && fs_->exists(job.path + kMax)) return Done{};
  return Error{Code::kUnavailable, 0,
               "cgroup v2 controller io does not reach Slurm's jobs: add "
               "EnableExtraControllers=io to cgroup.conf (Slurm 25.05 and "
               "later), or IOAccounting=yes to slurmd's systemd unit" +
                   (enabled ? "" : " (" + enabled.error().message + ")")};
}

Status V2Backend::attach_io(JobId job, const Home& home) {
  Status done = proc_->verify(home.task);
  if (!done) return done;
  auto found = known(job);
  if (!found) return std::move(found).error();
  return require_io(**found);
}

Status V2Backend::set_io_limit(JobId id, std::string_view device,
                               uint64_t rate_bytes_per_s) {
  if (!is_device(device)) return bad_device(device);
  if (rate_bytes_per_s == 0) return invalid("an I/O limit of 0 bytes/s");
  auto job = known(id);
  if (!job) return std::move(job).error();
  const std::string& path = (*job)->path;
  Status done = require_io(**job);
  if (done) done = fs_->write_mark(path, mark(".job"), std::to_string(id));
  if (done) done = fs_->write_mark(path, mark(".io"), std::string(device));
  if (!done) return done;
  done = fs_->write_file(path + kMax, std::string(device) + " rbps=" +
                                          std::to_string(rate_bytes_per_s));
  const int why = done ? 0 : done.error().saved_errno;
  if (why == ENODEV || why == ENXIO || why == EINVAL) return bad_device(device);
  return done;
}

Status V2Backend::clear_io_limit(JobId id, std::string_view device) {
  if (!is_device(device)) return bad_device(device);
  auto job = known(id);
  if (!job) return Done{};
  Status done =
      fs_->write_file((*job)->path + kMax, std::string(device) + " rbps=max");
  return without_limit(std::move(done));
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
