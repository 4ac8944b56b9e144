#include "broker/brokered_kernel.h"

#include "broker/cpu_bits.h"

namespace penstock {
namespace {

// Moves are told from other writes here, so that the broker need not know the
// text of one.
bool is_list(std::string_view file) {
  return file.ends_with("/tasks") || file.ends_with("/cgroup.procs") ||
         file.ends_with("/cgroup.threads");
}

}  // namespace

Status BrokeredFs::make_dir(std::string_view path) const {
  return broker_->change({.verb = Verb::kMakeGroup, .path = std::string(path)});
}

Status BrokeredFs::remove_dir(std::string_view path) const {
  return broker_->change(
      {.verb = Verb::kRemoveGroup, .path = std::string(path)});
}

Status BrokeredFs::write_file(std::string_view path,
                              std::string_view text) const {
  if (is_list(path)) {
    const Result<uint64_t> tid = parse_uint(text, 1, INT32_MAX);
    if (!tid) return tid.error();
    return broker_->change({.verb = Verb::kMove,
                            .id = static_cast<int32_t>(*tid),
                            .path = std::string(path)});
  }
  return broker_->change({.verb = Verb::kWriteControl,
                          .path = std::string(path),
                          .data = std::string(text)});
}

Result<std::string> BrokeredFs::read_mark(std::string_view path,
                                          const std::string& name) const {
  return broker_->read_mark(std::string(path), name);
}

Status BrokeredFs::write_mark(std::string_view path, const std::string& name,
                              const std::string& text) const {
  return broker_->change({.verb = Verb::kWriteMark,
                          .path = std::string(path),
                          .name = name,
                          .data = text});
}

Status BrokeredFs::remove_mark(std::string_view path,
                               const std::string& name) const {
  return broker_->change(
      {.verb = Verb::kRemoveMark, .path = std::string(path), .name = name});
}

Status BrokeredFs::check_writable(std::string_view path) const {
  return broker_->change(
      {.verb = Verb::kCheckControl, .path = std::string(path)});
}

Status BrokeredSched::set_affinity(pid_t tid, const CpuSet& cpus) const {
  // No bits mean all CPUs to the broker.
  if (cpus.empty()) return system_error(EINVAL, "an empty set of CPUs");
  return broker_->change(
      {.verb = Verb::kSetAffinity, .id = tid, .data = to_bits(cpus)});
}

Status BrokeredSched::set_widest_affinity(pid_t tid) const {
  return broker_->change({.verb = Verb::kSetAffinity, .id = tid});
}

Status BrokeredSched::set_policy(pid_t tid, const SchedPolicy& policy) const {
  return broker_->change({.verb = Verb::kSetPolicy,
                          .id = tid,
                          .numbers = {policy.policy, policy.priority}});
}

}  // namespace penstock
