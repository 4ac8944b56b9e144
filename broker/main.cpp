// penstock-broker, the part of the node agent that runs as root: see
// penstock-broker(8). Serves one penstockd, over the socket on its standard
// input, until that one ends.
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "broker/channel.h"
#include "broker/desk.h"
#include "broker/message.h"
#include "broker/session_priority.h"
#include "cgroup/mounts.h"
#include "common/account.h"
#include "common/config.h"
#include "common/log.h"
#include "common/version.h"

namespace penstock {
namespace {

constexpr int kUsage = 2;

int complain(const Error& error) {
  log_error("penstock-broker: {}", error.message);
  return 1;
}

constexpr int kMostRefusals = 20;  // logged by one broker

struct Arguments {
  std::string config_path = "/etc/slurm/penstock.conf";
  bool config_is_named = false;  // a named file must exist
};

Result<Config> load(const Arguments& arguments) {
  Result<Config> config = load_config(arguments.config_path);
  if (!config && !arguments.config_is_named &&
      config.error().code == Code::kNotFound) {
    return Config{};
  }
  return config;
}

// penstockd, which logs its errors, may be in other hands.
void log_refusal(const Status& status) {
  static int logged = 0;
  if (status || status.error().message.find("refuses") == std::string::npos) {
    return;
  }
  if (logged++ < kMostRefusals) log_warning("{}", status.error().message);
}

// Of the process that has connected.
// Errors: kPermissionDenied  neither root nor AgentUser has the other end.
Result<pid_t> penstockd_at(int socket, uid_t agent_user) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return system_error(errno, "the socket on the standard input");
  }
  if (peer.uid == 0 || peer.uid == agent_user) return peer.pid;
  return Error{Code::kPermissionDenied, 0,
               "uid " + std::to_string(peer.uid) +
                   " has connected, which is neither root nor AgentUser"};
}

// Their work is short, and jobs wait for it.
void run_before_jobs(pid_t penstockd) {
  for (const pid_t leader : {penstockd, ::getpid()}) {
    const Status raised = raise_session(leader);
    if (!raised) log_debug("{}", raised.error().message);
  }
}

Status serve(BrokerDesk& desk, int socket) {
  for (;;) {
    Result<Datagram> got = receive_datagram(socket, kMaxBrokerDatagramBytes);
    if (!got) return std::move(got).error();
    if (got->bytes.empty()) return Done{};
    const Result<BrokerRequest> request = decode_request(got->bytes);
    if (!request) return request.error();
    const BrokerDesk::Answer answer = desk.carry_out(*request, got->fds);
    log_refusal(answer.reply.status);
    const int fd = answer.fd.get();
    Status sent = send_datagram(socket, encode(answer.reply),
                                std::span(&fd, answer.fd ? 1 : 0));
    if (!sent) return sent;
  }
}

int run(const Arguments& arguments, const Config& config) {
  // penstockd's end ends the broker; signals to its group are for penstockd.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGPIPE})
    ::signal(signal, SIG_IGN);
  ::setsid();
  ::umask(022);
  const uid_t agent_user = find_uid(config.agent_user).value_or(0);
  const Result<pid_t> penstockd = penstockd_at(STDIN_FILENO, agent_user);
  if (!penstockd) return complain(penstockd.error());
  run_before_jobs(*penstockd);
  Result<UniqueFd> root = CgroupFs::open_root(config.cgroup_root);
  if (!root) return complain(root.error());
  Result<ProcReader> proc = ProcReader::open();
  if (!proc) return complain(proc.error());
  Result<V1Mounts> mounts = v1_mounts_of_system(config.cgroup_root);
  const CgroupFs fs(*std::move(root));
  const ThreadSched sched;
  BrokerRules rules(config.cgroup_name,
                    mounts ? *std::move(mounts) : V1Mounts{});
  const auto metrics_file = [&arguments] {
    const Result<Config> now = load(arguments);
    return now ? now->metrics_file : std::string();
  };
  BrokerDesk desk(fs, *proc, sched, std::move(rules),
                  {.socket_path = config.socket_path,
                   .state_dir = config.state_dir,
                   .report_dir = config.report_dir,
                   .user = agent_user,
                   .metrics_file = metrics_file});
  const Status served = serve(desk, STDIN_FILENO);
  return served ? 0 : complain(served.error());
}

int run(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--version") {
      std::printf("penstock-broker %s\n", kVersion);
      return 0;
    }
    if ((word != "-f" && word != "--config") || i + 1 == argc) {
      std::fprintf(stderr,
                   "usage: penstock-broker [-f FILE] [--version]\n"
                   "penstockd or systemd starts it; its standard input is the "
                   "socket\n");
      return kUsage;
    }
    arguments = {argv[++i], true};
  }
  const Result<Config> config = load(arguments);
  if (!config) return complain(config.error());
  return run(arguments, *config);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    return penstock::run(argc, argv);
  } catch (const std::exception& error) {
    // Only libraries throw. penstockd ends too, and its guardian restores.
    std::fprintf(stderr, "<3>penstock-broker: %s\n", error.what());
    return 1;
  }
}
