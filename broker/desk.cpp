#include "broker/desk.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "broker/cpu_bits.h"
#include "broker/metrics_file.h"
#include "broker/user_reader.h"
#include "cgroup/proc_events.h"
#include "common/listening_socket.h"
#include "common/whole_file.h"

namespace penstock {
namespace {

Error denied(const std::string& what) {
  return Error{Code::kPermissionDenied, EPERM,
               "penstock-broker refuses " + what};
}

template <class T>
BrokerReply reply_with(Result<T> result, T BrokerReply::*field) {
  BrokerReply reply;
  if (result) {
    reply.*field = *std::move(result);
  } else {
    reply.status = std::move(result).error();
  }
  return reply;
}

BrokerDesk::Answer answer_with(Result<UniqueFd> fd) {
  BrokerDesk::Answer answer;
  if (fd) {
    answer.fd = *std::move(fd);
  } else {
    answer.reply.status = std::move(fd).error();
  }
  return answer;
}

// 0: there is none.
ino_t inode_of(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

// A child's answer.
void report(int out, const Status& done) {
  const std::string said = done ? "=" : done.error().message;
  (void)write_whole(out, said);
}

bool is_real_time(int policy) {
  return policy == SCHED_FIFO || policy == SCHED_RR;
}

}  // namespace

BrokerDesk::Answer BrokerDesk::carry_out(const BrokerRequest& request,
                                         const std::vector<UniqueFd>& fds) {
  switch (request.verb) {
    case Verb::kReadMark:
      return {reply_with(read_mark(request), &BrokerReply::data), {}};
    case Verb::kPidNamespace:
      return {reply_with(proc_.pid_namespace(request.id), &BrokerReply::number),
              {}};
    case Verb::kOpenProcEvents: {
      Result<ProcEvents> events = ProcEvents::subscribe();
      return answer_with(events ? Result<UniqueFd>(events->release())
                                : std::move(events).error());
    }
    case Verb::kListen:
      return answer_with(listen());
    case Verb::kStopListening:
      stop_listening();
      return {};
    case Verb::kReadUserFile:
    case Verb::kWriteMetrics:
    case Verb::kRemoveMetrics:
      return {{.status = have_done(request, fds)}, {}};
    case Verb::kSweepCaches: {
      const uint64_t removed =
          cache_sweep_.run(static_cast<uint64_t>(request.numbers[0]),
                           static_cast<uint64_t>(request.numbers[1]));
      return {{.number = removed}, {}};
    }
    case Verb::kSetAffinity:
      return {{.status = set_affinity(request)}, {}};
    case Verb::kSetPolicy:
      return {{.status = set_policy(request)}, {}};
    default:
      return {{.status = change(request)}, {}};
  }
}

// A change of groups.
Status BrokerDesk::change(const BrokerRequest& request) {
  const std::string& path = request.path;
  Status done = may_change(request);
  if (done) done = scope_is_roots(path);
  if (!done) return done;
  switch (request.verb) {
    case Verb::kMakeGroup:
      return fs_.make_dir(path);
    case Verb::kRemoveGroup:
      return fs_.remove_dir(path);
    case Verb::kWriteControl:
      return fs_.write_file(path, request.data);
    case Verb::kCheckControl:
      return fs_.check_writable(path);
    case Verb::kMove:
      return fs_.write_file(path, std::to_string(request.id));
    case Verb::kWriteMark:
      return fs_.write_mark(path, request.name, request.data);
    case Verb::kRemoveMark:
      return fs_.remove_mark(path, request.name);
    default:
      return denied("an unknown request");
  }
}

Status BrokerDesk::may_change(const BrokerRequest& request) const {
  switch (request.verb) {
    case Verb::kMakeGroup:
      return rules_.may_make(request.path);
    case Verb::kRemoveGroup:
      return rules_.may_remove(request.path);
    case Verb::kWriteControl:
    case Verb::kCheckControl:
      return rules_.may_write(request.path, request.data);
    case Verb::kMove:
      return may_move(request);
    default:
      return rules_.may_mark(request.path, request.name);
  }
}

// The thread may end, and its number pass to another one, between the look and
// the write: the kernel takes a number only. Numbers are not reused at once.
Status BrokerDesk::may_move(const BrokerRequest& request) const {
  const Result<ProcCgroups> now = proc_.cgroups(request.id);
  if (!now) return now.error();
  return rules_.may_move(*now, request.path, [&](const std::string& group) {
    return fs_.exists(group);
  });
}

Status BrokerDesk::scope_is_roots(const std::string& path) const {
  const std::string scope = rules_.scope_of(path);
  if (scope.empty()) return Done{};
  const Result<uid_t> owner = fs_.owner(scope);
  if (!owner) return owner.error();
  if (*owner != ::geteuid()) return denied("to change a user's own group");
  return Done{};
}

Result<std::string> BrokerDesk::read_mark(const BrokerRequest& request) const {
  const Status may = rules_.may_mark(request.path, request.name);
  if (!may) return may.error();
  return fs_.read_mark(request.path, request.name);
}

Status BrokerDesk::is_of_job(pid_t tid) const {
  const Result<ProcCgroups> now = proc_.cgroups(tid);
  return now ? rules_.is_of_job(*now) : Status(now.error());
}

Status BrokerDesk::set_affinity(const BrokerRequest& request) const {
  Status may = is_of_job(request.id);
  if (!may) return may;
  if (request.data.empty()) return sched_.set_widest_affinity(request.id);
  return sched_.set_affinity(request.id, from_bits(request.data));
}

// A real-time policy only where the user could set it too: a job may have had
// it before it went away.
Status BrokerDesk::set_policy(const BrokerRequest& request) const {
  Status may = is_of_job(request.id);
  if (!may) return may;
  const SchedPolicy policy{static_cast<int>(request.numbers[0]),
                           static_cast<int>(request.numbers[1])};
  if (is_real_time(policy.policy)) {
    rlimit most{};
    if (::prlimit(request.id, RLIMIT_RTPRIO, nullptr, &most) != 0) {
      return system_error(errno, "prlimit");
    }
    if (policy.priority < 0 ||
        static_cast<rlim_t>(policy.priority) > most.rlim_cur) {
      return denied("a real-time policy that the job's user may not set");
    }
  } else if (policy.policy != SCHED_OTHER && policy.policy != SCHED_BATCH &&
             policy.policy != SCHED_IDLE) {
    return denied("a scheduling policy of no job");
  }
  return sched_.set_policy(request.id, policy);
}

Result<UniqueFd> BrokerDesk::listen() {
  Result<UniqueFd> socket = listen_at(settings_.socket_path);
  if (socket) socket_inode_ = inode_of(settings_.socket_path);
  return socket;
}

// The next penstockd may listen there already.
void BrokerDesk::stop_listening() {
  const ino_t ours = std::exchange(socket_inode_, 0);
  if (ours != 0 && ours == inode_of(settings_.socket_path)) {
    ::unlink(settings_.socket_path.c_str());
  }
}

Status BrokerDesk::have_done(const BrokerRequest& request,
                             const std::vector<UniqueFd>& fds) {
  if (fds.size() != (request.verb == Verb::kWriteMetrics ? 2 : 1)) {
    return denied("a request without its descriptors");
  }
  const int answer = fds.back().get();
  if (request.verb == Verb::kReadUserFile) {
    return read_user_file(request, answer);
  }
  const std::string& path = request.path;
  if (!is_metrics_file(path)) {
    return denied("to write " + printable(path, 200) + ": not MetricsFile");
  }
  if (request.verb == Verb::kRemoveMetrics) {
    return workers_.start(
        [&](int out, int) { report(out, remove_metrics_file(path)); }, answer);
  }
  return workers_.start(
      [&](int out, int in) {
        std::string text;
        const int error = read_whole(in, kMaxMetricsBytes, text);
        report(out, error == 0 ? write_metrics_file(path, text)
                               : system_error(error, "the metrics"));
      },
      answer, fds.front().get());
}

// The user is the one of a job's process, not one of penstockd's choice.
Status BrokerDesk::read_user_file(const BrokerRequest& request, int answer) {
  Status may = is_of_job(request.id);
  if (!may) return may;
  const Result<ProcStatus> process = proc_.status(request.id);
  if (!process) return process.error();
  return workers_.start(
      [&](int out, int) {
        read_as_user(request.path.c_str(), process->real_uid, process->real_gid,
                     out);
      },
      answer);
}

// penstock.conf may name another file since the last request.
bool BrokerDesk::is_metrics_file(const std::string& path) {
  if (!metrics_files_.contains(path)) {
    metrics_files_.insert(settings_.metrics_file());
  }
  return !path.empty() && metrics_files_.contains(path);
}

}  // namespace penstock
