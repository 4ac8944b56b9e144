#include "select_ext/ctld/submit_desk.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "common/clock.h"
#include "common/log.h"
#include "select_ext/job_submit/job_request.h"
#include "select_ext/job_submit/model_demands.h"

namespace penstock {
namespace {

using job_submit::JobDemand;
using job_submit::Submission;

// Profiles may change, and jobs come to wait.
constexpr uint64_t kPublish_ms = 5000;
// Read at once; the others when the loop comes round again.
constexpr int kPacketsAtOnce = 256;

// A socket that a daemon before us has left: nobody answers there.
bool is_left_over(const sockaddr_un& address) {
  struct stat found {};
  if (::lstat(address.sun_path, &found) != 0 || !S_ISSOCK(found.st_mode)) {
    return false;
  }
  const UniqueFd probe(
      ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return probe &&
         ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

}  // namespace

SubmitDesk::~SubmitDesk() {
  if (socket_) ::unlink(config_.submit_socket.c_str());
}

Status SubmitDesk::start() {
  if (!config_.uses_submit_table()) return Done{};
  publish();
  Result<int> timer = loop_.add_timer(kPublish_ms, [this] { publish(); });
  if (!timer) return std::move(timer).error();
  if (Status bound = bind_socket(); !bound) {
    log_warning("SubmitSocket: {}: submissions are not heard",
                bound.error().message);
    return Done{};
  }
  return loop_.watch(socket_.get(), [this] { hear(); });
}

Status SubmitDesk::bind_socket() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A path that does not fit was refused with the file.
  std::strncpy(address.sun_path, config_.submit_socket.c_str(),
               sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error(errno, config_.submit_socket);
  if (is_left_over(address)) ::unlink(address.sun_path);
  // penstockctld's umask lets root alone write to it.
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) !=
      0) {
    return system_error(errno, config_.submit_socket);
  }
  socket_ = std::move(fd);
  return Done{};
}

void SubmitDesk::set_slurm_user(uid_t user) {
  if (!socket_ || user == ::geteuid()) return;
  if (::lchown(config_.submit_socket.c_str(), user, gid_t(-1)) != 0) {
    log_warning("SubmitSocket: {}: SlurmUser's submissions are not heard",
                system_error(errno, config_.submit_socket).message);
  }
}

void SubmitDesk::set_waiting(const std::vector<SlurmJob>& jobs) {
  std::vector<JobDemand> waiting;
  // The newest are the likeliest to be changed.
  for (auto job = jobs.rbegin();
       job != jobs.rend() && waiting.size() < job_submit::kMaxJobs; ++job) {
    const auto demand = job_submit::queued_demand(
        job->job_id, job->gres_per_node, config_.submit_overcommit);
    if (demand) waiting.push_back(*demand);
  }
  waiting_ = std::move(waiting);
  if (config_.uses_submit_table()) publish();
}

void SubmitDesk::hear() {
  std::array<std::byte, sizeof(Submission) + 1> packet;
  for (int i = 0; i < kPacketsAtOnce; ++i) {
    const ssize_t size =
        ::recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
    if (size < 0) return;
    const Result<Submission> submission = job_submit::decode_submission(
        std::span(packet).first(static_cast<size_t>(size)));
    if (!submission) {
      log_warning("SubmitSocket: {}", submission.error().message);
      continue;
    }
    if (const std::string line = count_.add(*submission); !line.empty()) {
      log_info("{}", line);
    }
  }
}

Status SubmitDesk::publish_now() {
  if (!table_) {
    Result<job_submit::TableWriter> table =
        job_submit::TableWriter::open(config_.submit_table);
    if (!table) return std::move(table).error();
    table_.emplace(*std::move(table));
  }
  auto models =
      job_submit::model_demands(config_.profile_dir, config_.submit_model);
  if (!models) return std::move(models).error();
  return table_->publish(*std::move(models), waiting_,
                         static_cast<uint64_t>(unix_s()));
}

// What is wrong is said once.
void SubmitDesk::publish() {
  const Status published = publish_now();
  const std::string fault = published ? "" : published.error().message;
  if (fault != fault_ && !fault.empty()) {
    log_error("{}: the demand table stays as it was", fault);
  }
  fault_ = fault;
}

}  // namespace penstock
