// penstockctld: the cluster's controller. penstockctld(8).
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdio>
#include <functional>

#include "common/admin_file.h"
#include "common/config.h"
#include "common/daemon_signals.h"
#include "common/file_limit.h"
#include "common/host_name.h"
#include "common/log.h"
#include "common/service_manager.h"
#include "common/version.h"
#include "link/term_file.h"
#include "select_ext/ctld/desk.h"
#include "select_ext/ctld/service.h"

namespace penstock {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

struct Arguments {
  std::string config_path = "/etc/slurm/penstock.conf";
  std::string controller;  // "": the one on this host
  bool check_config = false;
  bool reset_term = false;
};

int complain(const Error& error) {
  log_error("{}", error.message);
  return kExitFailure;
}

std::string first_label(const std::string& host) {
  return host.substr(0, host.find('.'));
}

// The index of this controller in the configuration.
Result<size_t> find_place(const Config& config, const std::string& wanted) {
  if (config.controllers.empty()) {
    return invalid("Controller= is not set: no controller to run");
  }
  const std::string host = host_name();
  for (size_t i = 0; i < config.controllers.size(); ++i) {
    const ControllerAddress& address = config.controllers[i];
    const bool is_it = wanted.empty()
                           ? address.host == "localhost" ||
                                 first_label(address.host) == first_label(host)
                           : address.to_string() == wanted;
    if (is_it) return i;
  }
  return invalid(wanted.empty()
                     ? "no host of Controller= is this one (" + host +
                           "); say which with --controller HOST:PORT"
                     : "--controller " + wanted +
                           ": Controller= does not name it");
}

// The directory's files, too, are of the user who ran the last penstockctld.
Status check_owner(const std::string& path, const std::string& what) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return system_error(errno, what);
  if (found.st_uid == ::geteuid()) return Done{};
  return Error{
      Code::kPermissionDenied, 0,
      fmt::format("{}: belongs to user {}, but penstockctld runs as user {}; "
                  "run it as that user, or: chown -R {} {}",
                  what, found.st_uid, ::geteuid(), ::geteuid(), path)};
}

Result<UniqueFd> open_state_dir(const std::string& path) {
  const std::string what = "ControllerStateDir=" + path;
  // slurmctld reads the demand table there; other files have mode 0600.
  const bool is_new = ::mkdir(path.c_str(), 0711) == 0;
  if (!is_new && errno != EEXIST) return system_error(errno, what);
  if (Status owned = check_owner(path, what); !owned) {
    return std::move(owned).error();
  }
  Result<UniqueFd> dir = open_admin_directory(path, what);
  if (!dir) return dir;
  // Undo the effect of our umask on the new directory.
  if (is_new && ::fchmod(dir->get(), 0711) != 0) {
    return system_error(errno, what);
  }
  if (::flock(dir->get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{Code::kUnavailable, errno,
                 what + ": another penstockctld runs with it"};
  }
  return dir;
}

Result<uint64_t> term_of(int state_dir_fd) {
  Result<uint64_t> term = load_term(state_dir_fd);
  if (term || term.error().code != Code::kInvalidArgument) return term;
  // A damaged file does no harm: agents know the newest term.
  log_warning("{}", term.error().message);
  return uint64_t{0};
}

int forget_term(const Config& config) {
  Result<UniqueFd> state_dir = open_state_dir(config.controller_state_dir);
  if (!state_dir) return complain(state_dir.error());
  Status done = reset_term(state_dir->get());
  return done ? kExitOk : complain(done.error());
}

int serve(const Config& config, size_t place) {
  // Each node has a connection.
  if (Status raised = raise_file_limit(); !raised) {
    log_warning("{}", raised.error().message);
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::umask(077);
  Result<UniqueFd> state_dir = open_state_dir(config.controller_state_dir);
  if (!state_dir) return complain(state_dir.error());
  Result<uint64_t> own_term = term_of(state_dir->get());
  if (!own_term) return complain(own_term.error());
  Result<EventLoop> loop = EventLoop::create();
  if (!loop) return complain(loop.error());
  Desk* served = nullptr;
  const std::string serving = fmt::format(
      "Controller {} of {} at {}", place + 1, config.controllers.size(),
      config.controllers[place].to_string());
  Result<UniqueFd> signals = watch_signals(*loop, [&served, &serving] {
    notify_reloading();
    if (served != nullptr) served->reload_profiles();
    notify_ready(serving);
  });
  if (!signals) return complain(signals.error());

  const ControllerAddress& own = config.controllers[place];
  Link::Settings link_settings;
  link_settings.node = own.to_string();
  link_settings.listen = {config.listens_everywhere ? "" : own.host, own.port};
  link_settings.trust = trust_in_agents(config);
  if (const std::string lack = link_settings.trust.lack(); !lack.empty()) {
    log_info("{}", lack);
  }
  link_settings.make_credentials = [socket = config.munge_socket] {
    return std::make_unique<MungeCredentials>(socket);
  };
  Result<std::unique_ptr<Link>> link = Link::start(std::move(link_settings));
  if (!link) return complain(link.error());

  Controller::Settings settings;
  settings.place = unsigned(place);
  settings.timeout_s = double(config.controller_timeout_s);
  settings.min_solve_interval_s = double(config.min_solve_interval_ms) * 1e-3;
  settings.own_term = *own_term;
  ControllerService service(*loop,
                            Controller(settings, config.pools, config.policy),
                            *std::move(link), state_dir->get());
  Desk desk(*loop, service, config, own.to_string());
  served = &desk;
  Status status = service.start();
#ifdef PENSTOCK_HAS_LIBSLURM
  if (status) status = desk.start(make_slurm_api);
#else
  if (status) status = desk.start(nullptr);
#endif
  log_info("ready at {} (controller {} of {}, policy {})", own.to_string(),
           place + 1, config.controllers.size(), policy_name(config.policy));
  if (status) status = feed_watchdog(*loop);
  if (status) {
    notify_ready(serving);
    status = loop->run();
  }
  notify_stopping();
  if (!status) return complain(status.error());
  log_info("stopped");
  return kExitOk;
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"penstockctld: manages the data loaders of jobs on a cluster"};
  app.set_version_flag("--version", std::string("penstockctld ") + kVersion);
  app.add_option("-f,--config", arguments.config_path, "configuration file")
      ->capture_default_str();
  app.add_option("-c,--controller", arguments.controller,
                 "HOST:PORT of this controller, one of those in Controller=")
      ->default_str("the one on this host");
  app.add_flag("--check-config", arguments.check_config,
               "check the configuration file and exit");
  app.add_flag("--reset-term", arguments.reset_term,
               "forget the last term, while penstockctld is stopped, and exit")
      ->excludes("--check-config");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  set_log_name("penstockctld");
  Result<Config> config = load_config(arguments.config_path);
  if (!config) {
    fmt::print(stderr, "penstockctld: {}\n", config.error().message);
    return kExitFailure;
  }
  const Result<size_t> place = find_place(*config, arguments.controller);
  if (!place) {
    fmt::print(stderr, "penstockctld: {}: {}\n", arguments.config_path,
               place.error().message);
    return kExitFailure;
  }
  if (arguments.check_config) {
    fmt::print("{}: ok\n", arguments.config_path);
    return kExitOk;
  }
  const Trust own = trust_in_controllers(*config);
  if (!own.admits(::geteuid())) {
    fmt::print(stderr,
               "penstockctld: runs as user {}; allowed: root and {}, as others "
               "are believed by no agent\n",
               ::geteuid(), own.to_string());
    return kExitFailure;
  }
  set_log_level(log_level_named(config->log_level));
  if (arguments.reset_term) return forget_term(*config);
  return serve(*config, *place);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    return penstock::run(argc, argv);
  } catch (const std::exception& error) {
    // Only libraries throw. Agents go on without a controller.
    std::fprintf(stderr, "<3>penstockctld: %s\n", error.what());
    return 1;
  }
}
