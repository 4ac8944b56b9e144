#include "select_ext/ctld/submit_desk.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "common/clock.h"
#include "common/log.h"
#include "common/reader_acl.h"
#include "select_ext/job_submit/job_request.h"
#include "select_ext/job_submit/model_demands.h"

namespace penstock {
namespace {

using job_submit::JobDemand;
using job_submit::Submission;

// Packets per call; the event loop calls again for the rest.
constexpr int kPacketsAtOnce = 256;

// True for the socket of an ended daemon: nothing listens on it.
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
  reload_profiles();
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
  // A path that does not fit was refused when the file was read.
  std::strncpy(address.sun_path, config_.submit_socket.c_str(),
               sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error(errno, config_.submit_socket);
  if (is_left_over(address)) ::unlink(address.sun_path);
  // With penstockctld's umask only its own user and root can send to it.
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) !=
      0) {
    return system_error(errno, config_.submit_socket);
  }
  socket_ = std::move(fd);
  socket_file_.reset(::open(address.sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  return Done{};
}

// By descriptor: in a directory that others can write the name may refer to
// another file by now.
void SubmitDesk::set_slurm_user(uid_t user) {
  if (!socket_file_ || user == ::geteuid()) return;
  if (Status may = let_send(socket_file_.get(), user); !may) {
    log_warning("SubmitSocket: {}: {}: submissions are not heard",
                config_.submit_socket, may.error().message);
  }
}

void SubmitDesk::set_waiting(const std::vector<WaitingJob>& jobs) {
  std::vector<JobDemand> waiting;
  // The newest jobs are the likeliest to be updated.
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

void SubmitDesk::reload_profiles() {
  if (!config_.uses_submit_table()) return;
  load_models();
  publish();
}

// Reads the profiles only on request. The directory may be on a network file
// system, and nothing else in the controller waits for that.
void SubmitDesk::load_models() {
  auto models = job_submit::model_demands(
      config_.profile_dir, config_.submit_model, config_.gpu_type);
  if (models) {
    models_ = *std::move(models);
    return;
  }
  log_error("{}: keeping the previously published demand table",
            models.error().message);
  if (!models_.empty()) return;
  models = job_submit::model_demands("", "", "");
  if (models) models_ = *std::move(models);
}

Status SubmitDesk::publish_now() {
  if (!table_) {
    Result<job_submit::TableWriter> table =
        job_submit::TableWriter::open(config_.submit_table);
    if (!table) return std::move(table).error();
    table_.emplace(*std::move(table));
  }
  return table_->publish(models_, waiting_, static_cast<uint64_t>(unix_s()));
}

// Logs each fault once.
void SubmitDesk::publish() {
  const Status published = publish_now();
  const std::string fault = published ? "" : published.error().message;
  if (fault != fault_ && !fault.empty()) {
    log_error("{}: keeping the previous demand table", fault);
  }
  fault_ = fault;
}

}  // namespace penstock
