#include "broker/desk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "broker/cpu_bits.h"
#include "broker/metrics_file.h"
#include "broker/reads_look.h"
#include "broker/report_dir.h"
#include "broker/user_reader.h"
#include "cgroup/proc_events.h"
#include "common/listening_socket.h"
#include "common/log.h"
#include "common/state_dir.h"
#include "common/whole_file.h"

namespace penstock {
namespace {

constexpr unsigned kGive_s = 300;

Error denied(const std::string& what) {
  return Error{Code::kPermissionDenied, EPERM,
               "penstock-broker refuses " + what};
}

// The user that a request is about; nullopt: root, or none.
std::optional<uid_t> ordinary_user(const BrokerRequest& request) {
  const int64_t user = request.numbers[0];
  if (user <= 0 || user >= UINT32_MAX) return std::nullopt;
  return static_cast<uid_t>(user);
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

// What tells this file from another one of its name; "": there is none.
std::string identity_of(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return "";
  return fmt::format("{} {} {} {}", found.st_dev, found.st_ino,
                     found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
}

bool is_pipe(int fd) {
  struct stat found {};
  return ::fstat(fd, &found) == 0 && S_ISFIFO(found.st_mode);
}

// A memory file that nobody can change any more: reading it has no effect, and
// never blocks.
bool is_sealed(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_WRITE) != 0;
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
    case Verb::kGiveDirectories:
      return {{.status = give_directories()}, {}};
    case Verb::kReadUserFile:
    case Verb::kLookAtReads:
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
  const Result<ProcCgroups> now = groups_of(tid);
  return now ? rules_.is_of_job(*now) : Status(now.error());
}

// Errors: kPermissionDenied  in a scope that is not root's.
Result<ProcCgroups> BrokerDesk::groups_of(pid_t tid) const {
  Result<ProcCgroups> now = proc_.cgroups(tid);
  if (!now) return now;
  const auto unified = now->find("");
  if (unified == now->end()) return now;
  const Status may = scope_is_roots(unified->second);
  return may ? std::move(now) : may.error();
}

Status BrokerDesk::set_affinity(const BrokerRequest& request) const {
  Status may = is_of_job(request.id);
  if (!may) return may;
  if (request.data.empty()) return sched_.set_widest_affinity(request.id);
  return sched_.set_affinity(request.id, from_bits(request.data));
}

// A real-time policy only where the user could set it too: a job may have had
// it before it went away. Without it the thread gets the usual policy.
Status BrokerDesk::set_policy(const BrokerRequest& request) const {
  Status may = is_of_job(request.id);
  if (!may) return may;
  const SchedPolicy policy{static_cast<int>(request.numbers[0]),
                           static_cast<int>(request.numbers[1])};
  const int kind = policy.policy & ~SCHED_RESET_ON_FORK;
  if (is_real_time(kind)) {
    rlimit most{};
    if (::prlimit(request.id, RLIMIT_RTPRIO, nullptr, &most) != 0) {
      return system_error(errno, "prlimit");
    }
    if (policy.priority < 0 ||
        static_cast<rlim_t>(policy.priority) > most.rlim_cur) {
      (void)sched_.set_policy(request.id, SchedPolicy{SCHED_OTHER, 0});
      return denied("a real-time policy that the job's user may not set");
    }
  } else if (kind != SCHED_OTHER && kind != SCHED_BATCH && kind != SCHED_IDLE) {
    return denied("a scheduling policy of no job");
  }
  return sched_.set_policy(request.id, policy);
}

Result<UniqueFd> BrokerDesk::listen() {
  Result<UniqueFd> socket = listen_at(settings_.socket_path);
  if (socket) socket_ = identity_of(settings_.socket_path);
  return socket;
}

// The next penstockd may listen there already.
void BrokerDesk::stop_listening() {
  const std::string ours = std::exchange(socket_, "");
  if (!ours.empty() && ours == identity_of(settings_.socket_path)) {
    ::unlink(settings_.socket_path.c_str());
  }
}

// ReportDir may be on a file system that hangs, and hold 90 days of files.
Status BrokerDesk::give_directories() {
  const Status started =
      workers_.start({.deadline_s = kGive_s, .body = [this](int, int) {
                        const Status given = give_report_dir(
                            settings_.report_dir, settings_.user);
                        if (!given) {
                          log_warning("{}; until then no reports are written",
                                      given.error().message);
                        }
                      }});
  if (!started) log_warning("ReportDir: {}", started.error().message);
  return give_state_dir(settings_.state_dir, settings_.user,
                        settings_.socket_path);
}

Status BrokerDesk::have_done(const BrokerRequest& request,
                             const std::vector<UniqueFd>& fds) {
  const bool has_text = request.verb == Verb::kWriteMetrics;
  if (fds.size() != (has_text ? 2 : 1) || !is_pipe(fds.back().get()) ||
      (has_text && !is_sealed(fds.front().get()))) {
    return denied("a request without its descriptors");
  }
  const int answer = fds.back().get();
  if (request.verb == Verb::kReadUserFile) {
    return read_user_file(request, answer);
  }
  if (request.verb == Verb::kLookAtReads) {
    return look_at_reads(request, answer);
  }
  const std::string& path = request.path;
  if (!is_metrics_file(path)) {
    return denied("to write " + printable(path, 200) + ": not MetricsFile");
  }
  if (!has_text) {
    return workers_.start(
        {.body = [&](int out, int) { report(out, remove_metrics_file(path)); }},
        answer);
  }
  return workers_.start(
      {.body =
           [&](int out, int in) {
             std::string text;
             const int error = read_whole(in, kMaxMetricsBytes, text);
             report(out, error == 0 ? write_metrics_file(path, text)
                                    : system_error(error, "the metrics"));
           }},
      answer, fds.front().get());
}

// penstockd names the user, and the process must be that user's alone.
Status BrokerDesk::read_user_file(const BrokerRequest& request, int answer) {
  Status may = is_of_job(request.id);
  if (!may) return may;
  const std::optional<uid_t> user = ordinary_user(request);
  if (!user) return denied("to read a file as root");
  return workers_.start({.user = user,
                         .body =
                             [&](int out, int) {
                               read_as_process(request.path.c_str(), request.id,
                                               *user, out);
                             }},
                        answer);
}

// Of processes of jobs, as that user alone.
Status BrokerDesk::look_at_reads(const BrokerRequest& request, int answer) {
  std::vector<pid_t> processes(request.data.size() / sizeof(pid_t));
  if (processes.empty() || processes.size() > kMaxLookedAt ||
      request.data.size() % sizeof(pid_t) != 0) {
    return denied("to look at no process, or at too many");
  }
  std::memcpy(processes.data(), request.data.data(), request.data.size());
  for (const pid_t process : processes) {
    Status may = is_of_job(process);
    if (!may) return may;
  }
  const std::optional<uid_t> user = ordinary_user(request);
  if (!user) return denied("to look at processes as root");
  return workers_.start(
      {.user = user,
       .body = [&](int out,
                   int) { penstock::look_at_reads(processes, *user, out); }},
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
