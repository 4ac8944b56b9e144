// penstockd, the node agent: see penstockd(8).
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdio>

#include "broker/brokered_kernel.h"
#include "broker/start.h"
#include "cgroup/machine.h"
#include "common/account.h"
#include "common/clock.h"
#include "common/daemon_signals.h"
#include "common/file_limit.h"
#include "common/host_name.h"
#include "common/log.h"
#include "common/service_manager.h"
#include "common/state_dir.h"
#include "common/version.h"
#include "link/term_file.h"
#include "node_agent/agent.h"
#include "node_agent/guardian.h"
#include "node_agent/home_finder.h"
#include "node_agent/home_split.h"
#include "node_agent/last_sweep.h"

namespace penstock {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
// Another penstockd's guardian may still sweep, for up to 5 s.
constexpr uint64_t kLockWait_ns = 8'000'000'000;
// With the sweep's 5 s less than that. A request takes milliseconds.
constexpr int kBrokerEnd_ms = 2000;

struct Arguments {
  std::string config_path = "/etc/slurm/penstock.conf";
  bool config_is_named = false;  // a named file must exist
  std::string node;
  bool check_config = false;
  bool reset_term = false;

  std::vector<std::string> of_broker() const {
    if (!config_is_named) return {};
    return {"--config", config_path};
  }
};

int complain(const Error& error) {
  log_error("{}", error.message);
  return kExitFailure;
}

// Slurm's default node name: the host name without its domain.
std::string node_name() {
  const std::string host = host_name();
  return host.substr(0, host.find('.'));
}

// Ensures that one penstockd runs. The guardian shares the lock, and holds it
// until it exits.
Result<UniqueFd> take_lock(int dir_fd) {
  UniqueFd lock(::openat(dir_fd, "lock",
                         O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return system_error(errno, "lock");
  const uint64_t deadline_ns = monotonic_ns() + kLockWait_ns;
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return system_error(errno, "lock");
    if (monotonic_ns() > deadline_ns) {
      return Error{Code::kUnavailable, 0,
                   "another penstockd runs with this StateDir, or its "
                   "guardian; stop it, or set another StateDir, SocketPath "
                   "and CgroupName"};
    }
    ::usleep(20'000);
  }
  return lock;
}

// Access to the kernel, for the agent or its guardian: each has a broker of its
// own, so that one broker's end leaves the guardian able to restore.
struct Kernel {
  BrokerClient broker;
  BrokeredFs fs;
  BrokeredProc proc;
  BrokeredSched sched;
  std::unique_ptr<Backend> backend;

  Kernel(UniqueFd socket, int patience_s, UniqueFd cgroup_root,
         ProcReader proc_reader)
      : broker(std::move(socket), patience_s),
        fs(std::move(cgroup_root), broker),
        proc(std::move(proc_reader), broker),
        sched(broker) {}
};

Result<std::unique_ptr<Kernel>> open_kernel(const Config& config,
                                            UniqueFd broker, int patience_s) {
  Result<UniqueFd> root = CgroupFs::open_root(config.cgroup_root);
  if (!root) return std::move(root).error();
  Result<ProcReader> proc = ProcReader::open();
  if (!proc) return std::move(proc).error();
  auto kernel = std::make_unique<Kernel>(std::move(broker), patience_s,
                                         *std::move(root), *std::move(proc));
  Result<std::unique_ptr<Backend>> backend = open_backend(
      config.cgroup_root, kernel->fs, kernel->proc, kernel->sched,
      {config.cgroup_name, config.away_yields, config.always_moves});
  if (!backend) return std::move(backend).error();
  kernel->backend = *std::move(backend);
  return kernel;
}

// Runs in the guardian, after penstockd died: its last request must not be
// carried out after the clean-up.
void finish_requests(UniqueFd broker) {
  const Status ended = end_broker(std::move(broker), kBrokerEnd_ms);
  if (!ended)
    log_warning("{}; its jobs are restored now", ended.error().message);
}

// Runs in the guardian, after penstockd died or hung.
void clean_up_after(const Kernel& kernel, int state_dir_fd) {
  Backend& backend = *kernel.backend;
  std::vector<SavedTask> saved;
  if (auto loaded = load_tasks(state_dir_fd)) saved = *std::move(loaded);
  const FindHome find_home = home_finder(kernel.proc, backend, saved);
  const Status swept = last_sweep(backend, find_home);
  const HomeSplitter splitter(kernel.proc, kernel.sched);
  for (const SavedTask& task : saved) {
    splitter.undo_saved({task.home.affinity, task.loader_cpus}, task.home.task,
                        task.pinned_tids);
  }
  if (swept) {
    log_warning(
        "penstockd died or hangs: its groups were removed, jobs run on the "
        "resources that Slurm gave them");
  } else {
    log_error(
        "penstockd died or hangs, and some of its groups could not be removed: "
        "{}; its next start tries again",
        swept.error().message);
  }
}

Result<Config> load(const Arguments& arguments) {
  Result<Config> config = load_config(arguments.config_path);
  const bool may_miss = !arguments.config_is_named;
  if (!config && may_miss && config.error().code == Code::kNotFound) {
    log_info("no {}: the defaults hold", arguments.config_path);
    return Config{};
  }
  return config;
}

void reload(Agent& agent, const Arguments& arguments) {
  notify_reloading();
  Result<Config> config = load(arguments);
  if (config) {
    agent.reload(*std::move(config));
    notify_ready("Serving");
    return;
  }
  const std::string refused =
      config.error().message + "; the old configuration stays in force";
  log_error("{}", refused);
  notify_ready("Serving. " + refused);
}

Status become_agent_user(const Config& config) {
  if (::geteuid() != 0) return Done{};  // systemd has done it
  const std::optional<uid_t> user = find_uid(config.agent_user);
  if (!user) {
    log_warning("AgentUser={}: there is no such account; penstockd stays root",
                config.agent_user);
  }
  return user.value_or(0) == 0 ? Done{} : become_user(*user);
}

int forget_term(const Arguments& arguments, const Config& config) {
  Result<UniqueFd> broker = open_broker(arguments.of_broker());
  if (!broker) return complain(broker.error());
  Status ready = BrokerClient(*std::move(broker)).give_directories();
  if (ready) ready = become_agent_user(config);
  if (!ready) return complain(ready.error());
  Result<UniqueFd> state_dir = open_state_dir(config.state_dir);
  if (!state_dir) return complain(state_dir.error());
  Result<UniqueFd> lock = take_lock(state_dir->get());
  if (!lock) return complain(lock.error());
  Status done = reset_term(state_dir->get());
  return done ? kExitOk : complain(done.error());
}

int run_agent(const Arguments& arguments, Config config, Kernel& kernel,
              Guardian& guardian, int state_dir_fd) {
  Result<EventLoop> loop = EventLoop::create();
  if (!loop) return complain(loop.error());
  Result<Topology> topology = load_topology();
  if (!topology) return complain(topology.error());
  Result<CpuIdle> idle = CpuIdle::open();
  if (!idle) return complain(idle.error());
  Agent agent(
      Machine{*loop, kernel.broker, kernel.proc, kernel.sched, *kernel.backend,
              *std::move(topology), *std::move(idle), state_dir_fd,
              arguments.node, [&](bool away) { guardian.beat(away); },
              [&] { return guardian.clean_ups(); }},
      std::move(config));
  Result<UniqueFd> signals =
      watch_signals(*loop, [&] { reload(agent, arguments); });
  Status status = signals ? agent.start() : Status(signals.error());
  if (status) {
    status = loop->watch(kernel.broker.descriptor(), [] {
      BrokerClient::give_up("penstock-broker has ended");
    });
  }
  // Nobody would restore the jobs after a kill.
  bool is_guarded = true;
  if (status) {
    status = loop->watch(guardian.descriptor(), [&] {
      is_guarded = false;
      loop->stop();
    });
  }
  if (status) status = feed_watchdog(*loop);
  if (status) {
    notify_ready("Serving");
    status = loop->run();
  }
  notify_stopping();
  agent.stop();
  guardian.dismiss();
  if (status && !is_guarded) {
    status = Error{Code::kUnavailable, 0,
                   "penstockd-guard or its broker has ended; penstockd has "
                   "restored the jobs and ends, to be started again"};
  }
  if (!status) return complain(status.error());
  log_info("stopped");
  return kExitOk;
}

int serve(const Arguments& arguments, Config config) {
  // penstockd keeps an open file per loader thread.
  if (Status raised = raise_file_limit(); !raised) {
    log_warning("{}", raised.error().message);
  }
  ::signal(SIGCHLD, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  ::umask(022);
  // penstockd's work is short, and jobs wait for it.
  if (::setpriority(PRIO_PROCESS, 0, -10) != 0) {
    log_debug("setpriority: {}", std::strerror(errno));
  }
  Result<UniqueFd> broker = open_broker(arguments.of_broker());
  if (!broker) return complain(broker.error());
  Result<UniqueFd> guardians_broker = open_broker(arguments.of_broker());
  if (!guardians_broker) return complain(guardians_broker.error());
  const int guardians_socket = guardians_broker->get();
  Result<std::unique_ptr<Kernel>> guardians_kernel =
      open_kernel(config, *std::move(guardians_broker), /*patience_s=*/0);
  if (!guardians_kernel) return complain(guardians_kernel.error());
  Status ready = (*guardians_kernel)->broker.give_directories();
  if (ready) ready = become_agent_user(config);
  if (!ready) return complain(ready.error());
  Result<UniqueFd> state_dir = open_state_dir(config.state_dir);
  if (!state_dir) return complain(state_dir.error());
  Result<UniqueFd> lock = take_lock(state_dir->get());
  if (!lock) return complain(lock.error());
  Result<Guardian> guardian = Guardian::start(
      [&](Guardian::Cause cause) {
        if (cause == Guardian::Cause::kDied)
          finish_requests(*std::move(broker));
        clean_up_after(**guardians_kernel, state_dir->get());
      },
      guardians_socket);
  if (!guardian) return complain(guardian.error());
  guardians_kernel->reset();
  Result<std::unique_ptr<Kernel>> kernel =
      open_kernel(config, *std::move(broker), BrokerClient::kPatience_s);
  if (!kernel) return complain(kernel.error());

  return run_agent(arguments, std::move(config), **kernel, *guardian,
                   state_dir->get());
}

int run(int argc, char** argv) {
  Arguments arguments;
  arguments.node = node_name();
  CLI::App app{"penstockd: manages the data loaders of jobs on one node"};
  app.set_version_flag("--version", std::string("penstockd ") + kVersion);
  app.add_option("-f,--config", arguments.config_path, "configuration file")
      ->capture_default_str();
  app.add_option("-N,--node", arguments.node, "this node's name in Slurm")
      ->capture_default_str();
  app.add_flag("--check-config", arguments.check_config,
               "check the configuration file and exit");
  app.add_flag("--reset-term", arguments.reset_term,
               "forget the newest term seen, while penstockd is stopped, and "
               "exit")
      ->excludes("--check-config");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  arguments.config_is_named = app.count("--config") > 0;
  Result<Config> config = load(arguments);
  if (!config) {
    fmt::print(stderr, "penstockd: {}\n", config.error().message);
    return kExitFailure;
  }
  if (arguments.check_config) {
    fmt::print("{}: ok\n", arguments.config_path);
    return kExitOk;
  }
  if (const uid_t user = ::geteuid();
      user != 0 && find_uid(config->agent_user) != user) {
    fmt::print(stderr,
               "penstockd: must be started as root, or as AgentUser={} by its "
               "unit\n",
               config->agent_user);
    return kExitFailure;
  }
  set_log_level(log_level_named(config->log_level));
  if (arguments.reset_term) return forget_term(arguments, *config);
  return serve(arguments, *std::move(config));
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    return penstock::run(argc, argv);
  } catch (const std::exception& error) {
    // Only libraries throw. The guardian restores the jobs.
    std::fprintf(stderr, "<3>penstockd: %s\n", error.what());
    return 1;
  }
}
