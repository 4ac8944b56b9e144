// I/O limits and measurements of a job on cgroup v1.
#include <utility>

#include "cgroup/backend_parts.h"
#include "cgroup/v1_backend.h"
#include "cgroup/v1_parse.h"

namespace penstock {
namespace {

constexpr const char* kProcs = "/cgroup.procs";
constexpr const char* kReadLimit = "/blkio.throttle.read_bps_device";

}  // namespace

Status V1Backend::make_blkio(JobId job) {
  Status done = tree_.require("blkio");
  if (done) done = tree_.fs->make_dir(tree_.at("blkio", tree_.parent_group()));
  if (done) done = tree_.fs->make_dir(tree_.at("blkio", tree_.job_group(job)));
  return done;
}

Status V1Backend::attach_io(JobId job, const Home& home) {
  Status done = proc_->verify(home.task);
  if (done) done = make_blkio(job);
  if (done)
    done = tree_.move(home.task.tid, "blkio", tree_.job_group(job), kProcs);
  return done;
}

Status V1Backend::detach_io(const Home& home) {
  Status done = tree_.require("blkio");
  if (done) done = proc_->verify(home.task);
  if (done)
    done = tree_.move_home(home.task.tid, "blkio", home.blkio_path, kProcs);
  return done;
}

Status V1Backend::set_io_limit(JobId job, std::string_view device,
                               uint64_t rate_bytes_per_s) {
  Status done = check_io_limit(device, rate_bytes_per_s);
  if (done) done = make_blkio(job);
  if (!done) return done;
  return device_checked(
      tree_.fs->write_file(
          tree_.at("blkio", tree_.job_group(job)) + kReadLimit,
          std::string(device) + " " + std::to_string(rate_bytes_per_s)),
      device);
}

Status V1Backend::clear_io_limit(JobId job, std::string_view device) {
  if (!is_device(device)) return bad_device(device);
  Status done = tree_.require("blkio");
  if (!done) return done;
  done =
      tree_.fs->write_file(tree_.at("blkio", tree_.job_group(job)) + kReadLimit,
                           std::string(device) + " 0");
  return unless_gone(std::move(done));
}

Result<uint64_t> V1Backend::io_read_bytes(JobId job,
                                          std::string_view device) const {
  if (!is_device(device)) return bad_device(device);
  Status there = tree_.require("blkio");
  if (!there) return there.error();
  auto text = tree_.fs->read_file(tree_.at("blkio", tree_.job_group(job)) +
                                  "/blkio.throttle.io_service_bytes");
  if (!text) return text.error();
  return parse_io_read_bytes(*text, device);
}

Result<uint64_t> V1Backend::cpu_time_ns(std::string_view cpuacct_path,
                                        const char* file) const {
  Status there = tree_.require("cpuacct");
  if (!there) return there.error();
  const std::string path = tree_.at("cpuacct", cpuacct_path) + "/" + file;
  auto text = tree_.fs->read_file(path);
  if (!text) return text.error();
  auto usage_ns = parse_cpu_usage(*text);
  if (!usage_ns) return std::move(usage_ns.error()).wrap(path);
  return usage_ns;
}

Result<uint64_t> V1Backend::cpu_usage_ns(std::string_view cpuacct_path) const {
  return cpu_time_ns(cpuacct_path, "cpuacct.usage");
}

Result<uint64_t> V1Backend::cpu_user_ns(std::string_view cpuacct_path) const {
  return cpu_time_ns(cpuacct_path, "cpuacct.usage_user");
}

}  // namespace penstock
