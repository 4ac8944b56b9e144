#include "broker/client.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "broker/channel.h"
#include "common/log.h"
#include "common/memfd.h"
#include "common/whole_file.h"

namespace penstock {

// Nothing here can run without the broker, not even the restoring of jobs.
void BrokerClient::give_up(const std::string& why) {
  log_error("{}; process {} of penstockd ends", why, ::getpid());
  ::_exit(1);
}

BrokerClient::BrokerClient(UniqueFd socket, int patience_s)
    : socket_(std::move(socket)) {
  const timeval patience{patience_s, 0};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    (void)::setsockopt(socket_.get(), SOL_SOCKET, option, &patience,
                       sizeof patience);
  }
}

BrokerClient::Answer BrokerClient::ask(const BrokerRequest& request,
                                       std::span<const int> fds) const {
  const Status sent = send_datagram(socket_.get(), encode(request), fds);
  if (!sent) give_up(sent.error().message);
  Result<Datagram> got =
      receive_datagram(socket_.get(), kMaxBrokerDatagramBytes);
  if (!got) give_up(got.error().message);
  if (got->bytes.empty()) give_up("penstock-broker has ended");
  Result<BrokerReply> reply = decode_reply(got->bytes);
  if (!reply) give_up(reply.error().message);
  UniqueFd fd;
  if (!got->fds.empty()) fd = std::move(got->fds.front());
  return {*std::move(reply), std::move(fd)};
}

Status BrokerClient::change(const BrokerRequest& request) const {
  return ask(request).reply.status;
}

Result<std::string> BrokerClient::read_mark(const std::string& path,
                                            const std::string& name) const {
  Answer answer = ask({.verb = Verb::kReadMark, .path = path, .name = name});
  if (!answer.reply.status) return std::move(answer.reply.status).error();
  return std::move(answer.reply.data);
}

Result<uint64_t> BrokerClient::pid_namespace(pid_t id) const {
  Answer answer = ask({.verb = Verb::kPidNamespace, .id = id});
  if (!answer.reply.status) return std::move(answer.reply.status).error();
  return answer.reply.number;
}

Result<UniqueFd> BrokerClient::ask_for_descriptor(Verb verb) const {
  Answer answer = ask({.verb = verb});
  if (!answer.reply.status) return std::move(answer.reply.status).error();
  if (!answer.fd) {
    return Error{Code::kIo, 0, "penstock-broker: its descriptor is lost"};
  }
  return std::move(answer.fd);
}

Result<UniqueFd> BrokerClient::open_proc_events() const {
  return ask_for_descriptor(Verb::kOpenProcEvents);
}

Result<UniqueFd> BrokerClient::listen() const {
  return ask_for_descriptor(Verb::kListen);
}

void BrokerClient::stop_listening() const {
  (void)ask({.verb = Verb::kStopListening});
}

Status BrokerClient::read_user_file(const std::string& path, pid_t process,
                                    uid_t user, int answer) const {
  return ask({.verb = Verb::kReadUserFile,
              .id = process,
              .numbers = {static_cast<int64_t>(user), 0},
              .path = path},
             std::span(&answer, 1))
      .reply.status;
}

Status BrokerClient::look_at_reads(const std::vector<pid_t>& processes,
                                   uid_t user, int answer) const {
  return ask({.verb = Verb::kLookAtReads,
              .numbers = {static_cast<int64_t>(user), 0},
              .data =
                  std::string(reinterpret_cast<const char*>(processes.data()),
                              processes.size() * sizeof(pid_t))},
             std::span(&answer, 1))
      .reply.status;
}

Status BrokerClient::write_metrics(const std::string& path,
                                   const std::string& text, int answer) const {
  const Result<UniqueFd> file = create_memfd("penstock metrics");
  if (!file) return file.error();
  if (const int error = write_whole(file->get(), text); error != 0) {
    return system_error(error, "the metrics");
  }
  if (::fcntl(file->get(), F_ADD_SEALS,
              F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return system_error(errno, "sealing the metrics");
  }
  const int fds[] = {file->get(), answer};
  return ask({.verb = Verb::kWriteMetrics, .path = path}, fds).reply.status;
}

Status BrokerClient::remove_metrics(const std::string& path, int answer) const {
  return ask({.verb = Verb::kRemoveMetrics, .path = path},
             std::span(&answer, 1))
      .reply.status;
}

Status BrokerClient::give_directories() const {
  return ask({.verb = Verb::kGiveDirectories}).reply.status;
}

uint64_t BrokerClient::sweep_caches(uint64_t most_keep_s,
                                    uint64_t now_s) const {
  return ask({.verb = Verb::kSweepCaches,
              .numbers = {static_cast<int64_t>(most_keep_s),
                          static_cast<int64_t>(now_s)}})
      .reply.number;
}

}  // namespace penstock
