// Checks penstockd on this node and the cluster's penstockctld.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/state_dir.h"
#include "report/json.h"
#include "report/text.h"
#include "tools/doctor/doctor.h"
#include "tools/penstock/client.h"
#include "tools/penstock/controller_client.h"

namespace penstock::doctor {
namespace {

constexpr int kProofLife_s = 60;
constexpr mode_t kSocketMode = 0666;  // jobs of all users connect to it

std::string version_differs(const char* daemon, const std::string& theirs,
                            const std::string& ours) {
  return fmt::format("{} {}, but this command is of {}", daemon, theirs, ours);
}

// Checks owner, mode and type of penstockd's socket.
Findings check_socket(const std::string& path) {
  const char* check = "socket";
  const char* restart = "systemctl restart penstockd";
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno != ENOENT) {
      return {unreadable(check, system_error(errno, path), restart)};
    }
    return {fail(check, path + ": not there: penstockd does not run",
                 "systemctl enable --now penstockd; if it does not start, see "
                 "journalctl -u penstockd")};
  }
  const std::string what =
      fmt::format("{}: owner {}, mode {:04o}", path, found.st_uid,
                  unsigned(found.st_mode & 07777));
  if (!S_ISSOCK(found.st_mode)) {
    return {fail(check, what + ": not a socket",
                 fmt::format("rm {} && {}", path, restart))};
  }
  if (found.st_uid != 0 && found.st_uid != ::geteuid()) {
    return {fail(check, what + ": not root's",
                 fmt::format("rm {} && {}", path, restart))};
  }
  if ((found.st_mode & 0777) != kSocketMode) {
    return {fail(check, what + ": jobs cannot use it, or not all",
                 fmt::format("chmod 0666 {}", path))};
  }
  return {ok(check, what)};
}

// status: set to penstockd's reply if it is readable.
Finding check_answer(const Config& config, const std::string& version,
                     std::optional<NodeStatus>& status) {
  const char* check = "penstockd";
  const char* see = "journalctl -u penstockd; systemctl restart penstockd";
  Result<std::string> text = ask_status(config.socket_path, 0);
  if (!text) return unreadable(check, text.error(), see);
  Result<NodeStatus> answer = parse_node_status(*text);
  if (!answer) {
    return fail(check, "its answer: " + answer.error().message,
                "install one release of Penstock everywhere; systemctl restart "
                "penstockd");
  }
  status = *std::move(answer);
  if (status->version != version) {
    return warn(check, version_differs("runs", status->version, version),
                "systemctl restart penstockd, once the new release is "
                "installed");
  }
  return ok(check, fmt::format("{} answers as node {}", status->version,
                               status->node));
}

Finding check_idle(const NodeStatus& status) {
  const char* check = "idle CPUs";
  if (status.idle_not_lent.empty()) return ok(check, "may be lent");
  return warn(check, "not lent: " + status.idle_not_lent,
              "penstock.conf: add the line ManagedCPUs= with the CPUs that may "
              "be lent, or LendIdle=no; systemctl reload penstockd");
}

// Compares the mark in StateDir, which the next penstockd will read, with the
// state of the running one.
Findings check_switch(const Config& config,
                      const std::optional<NodeStatus>& running) {
  const char* check = "switch";
  const UniqueFd dir(
      ::open(config.state_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir) return {};  // check_directories() reports it
  Result<std::optional<double>> since = off_since_unix_s(dir.get());
  if (!since) return {unreadable(check, since.error(), "penstock on")};
  if (!*since && running && running->off_since_unix_s) {
    return {warn(check,
                 fmt::format("penstockd is off since {} and will be on when "
                             "it starts again: {}/{} is not there",
                             date_text(*running->off_since_unix_s),
                             config.state_dir, kOffMark),
                 "penstock off, to keep it off; penstock on otherwise")};
  }
  if (*since && running && !running->off_since_unix_s) {
    return {warn(check,
                 fmt::format("penstockd is on and will be off when it starts "
                             "again: {}/{} is there",
                             config.state_dir, kOffMark),
                 "penstock on, to keep it on; penstock off otherwise")};
  }
  if (!*since) return {ok(check, "on")};
  return {warn(check,
               fmt::format("off since {}, by {}/{}: nothing is granted",
                           date_text(**since), config.state_dir, kOffMark),
               "penstock on")};
}

// Whom the daemons of the cluster believe.
Findings check_accounts(const Config& config) {
  Findings findings;
  for (const Trust& trust :
       {trust_in_controllers(config), trust_in_agents(config)}) {
    const std::string lack = trust.lack();
    findings.push_back(ok("accounts", lack.empty() ? trust.to_string() : lack));
  }
  return findings;
}

}  // namespace

Findings check_agent(const Config& config, const std::string& version) {
  Findings findings = check_socket(config.socket_path);
  std::optional<NodeStatus> status;
  if (!any_failed(findings)) {
    findings.push_back(check_answer(config, version, status));
  }
  if (status && config.lend_idle) findings.push_back(check_idle(*status));
  const Findings of_switch = check_switch(config, status);
  findings.insert(findings.end(), of_switch.begin(), of_switch.end());
  return findings;
}

Findings check_controller(const Config& config, const std::string& version) {
  const char* check = "controller";
  if (config.controllers.empty()) {
    return {skip(check,
                 "no Controller= in penstock.conf: the node is solved "
                 "alone")};
  }
  Findings findings = check_accounts(config);
  MungeCredentials credentials(config.munge_socket);
  Result<std::string> proof =
      credentials.encode("penstock doctor", ::geteuid(), kProofLife_s);
  if (!proof) {
    findings.push_back(fail("munge", proof.error().message,
                            "systemctl enable --now munge, or set MungeSocket= "
                            "in penstock.conf"));
    return findings;
  }
  findings.push_back(ok("munge", "makes credentials"));
  ControllerQuery query;
  query.what = ControllerQuery::What::kNodes;
  query.limit = 1;
  auto answer = ask_controllers(
      {config.controllers, trust_in_controllers(config)}, query, credentials);
  if (!answer) {
    findings.push_back(fail(check, answer.error().message,
                            "on the controller: systemctl enable --now "
                            "penstockctld; see that its port can be reached "
                            "from here"));
    return findings;
  }
  const auto theirs = answer->value("version", std::string("an older release"));
  findings.push_back(
      theirs == version
          ? ok(check, fmt::format("penstockctld {} answers", theirs))
          : warn(check, version_differs("penstockctld", theirs, version),
                 "install one release of Penstock everywhere"));
  return findings;
}

}  // namespace penstock::doctor
