// Checks penstock.conf and penstockd's directories.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "common/account.h"
#include "tools/doctor/doctor.h"
#include "tools/penstock/checked_config.h"

namespace penstock::doctor {
namespace {

struct Directory {
  const char* key;  // in penstock.conf
  std::string path;
  const char* mode;    // as install(1) accepts it
  const char* absent;  // effect of its absence
  uid_t owner = 0;
  bool is_passed = true;  // other users need search permission
};

bool is_trusted(const struct stat& file, uid_t owner) {
  return (file.st_uid == owner || file.st_uid == ::geteuid()) &&
         (file.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string owner_name(uid_t owner) {
  return owner == 0 ? "root" : std::to_string(owner);
}

Finding check_directory(const Directory& it) {
  const std::string named = fmt::format("{}={}", it.key, it.path);
  const std::string make = fmt::format("install -d -o {} -m {} {}",
                                       owner_name(it.owner), it.mode, it.path);
  struct stat found {};
  if (::stat(it.path.c_str(), &found) != 0) {
    if (errno == ENOENT) {
      return warn(it.key, fmt::format("{}: not there: {}", named, it.absent),
                  make);
    }
    return unreadable(it.key, system_error(errno, named), make);
  }
  if (!S_ISDIR(found.st_mode)) {
    return fail(it.key, named + ": not a directory",
                fmt::format("remove it, then {}", make));
  }
  const std::string what =
      fmt::format("{}: owner {}, mode {:04o}", named, found.st_uid,
                  unsigned(found.st_mode & 07777));
  if (!is_trusted(found, it.owner)) {
    return fail(it.key, what + ": others could change what root relies on",
                fmt::format("chown {1} {0} && chmod go-w {0}", it.path,
                            owner_name(it.owner)));
  }
  if (it.is_passed && (found.st_mode & S_IXOTH) == 0) {
    return fail(it.key, what + ": closed to the users who need it",
                fmt::format("chmod o+x {}", it.path));
  }
  return ok(it.key, what);
}

}  // namespace

Findings check_config(const Places& places) {
  const char* check = "penstock.conf";
  Result<Config> config = load_checked_config(places.config_path);
  if (config) return {ok(check, places.config_path)};
  const Error& error = config.error();
  if (error.code == Code::kNotFound && !places.config_is_named) {
    return {
        ok(check, places.config_path + ": not there, so the defaults hold")};
  }
  return {unreadable(
      check, error,
      "correct the line that the message names; penstock check-config " +
          places.config_path +
          " checks it, systemctl reload penstockd uses it")};
}

Findings check_directories(const Config& config) {
  const uid_t agent = find_uid(config.agent_user).value_or(0);
  const std::string run =
      std::filesystem::path(config.socket_path).parent_path().string();
  Findings findings = {check_directory({"StateDir", config.state_dir, "0755",
                                        "penstockd creates it at its start",
                                        agent, run == config.state_dir}),
                       check_directory({"ReportDir", config.report_dir, "0711",
                                        "no reports are written", agent})};
  if (run != config.state_dir) {
    findings.push_back(check_directory(
        {"SocketPath", run, "0755", "penstockd cannot create its socket"}));
  }
  if (!config.metrics_file.empty()) {
    findings.push_back(check_directory(
        {"MetricsFile",
         std::filesystem::path(config.metrics_file).parent_path().string(),
         "0755", "no metrics are written"}));
  }
  return findings;
}

}  // namespace penstock::doctor
