// Parses the parts of Slurm's files that Penstock depends on: "Key=value" files
// (slurm.conf, cgroup.conf) and plugstack.conf. Pure except for the readers
// that the caller passes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock::doctor {

using ReadText = std::function<Result<std::string>(const std::string& path)>;
// The files that match a pattern, in order.
using ExpandGlob =
    std::function<std::vector<std::string>(const std::string& pattern)>;

struct SlurmSetting {
  std::string key;
  std::string value;  // without quotes
  std::string file;
  int line = 0;

  std::string place() const { return file + ":" + std::to_string(line); }
};

class SlurmConf {
 public:
  // Slurm's rules: keys ignore case, the last setting counts. nullptr: not set.
  const SlurmSetting* find(std::string_view key) const;
  std::string value_or(std::string_view key, std::string fallback) const;

  std::vector<SlurmSetting> settings;
};

// Reads a file and its includes. Text that is no setting is ignored, because
// Slurm itself reports it.
// Errors: read's;  kLimit  over 100 files, as when a file includes itself.
[[nodiscard]] Result<SlurmConf> read_slurm_conf(const std::string& path,
                                                const ReadText& read);

struct PlugstackLine {
  bool required = false;
  std::string plugin;  // a path, or a name in PluginDir
  std::vector<std::string> arguments;
  std::string file;
  int line = 0;

  std::string place() const { return file + ":" + std::to_string(line); }
};

// plugstack.conf and the files that its patterns include.
// Errors: as read_slurm_conf()
[[nodiscard]] Result<std::vector<PlugstackLine>> read_plugstack(
    const std::string& path, const ReadText& read, const ExpandGlob& expand);

// True if a list such as TaskPlugin's "task/cgroup,affinity" names the plugin.
// Newer releases accept names without the type and '/'.
bool names_plugin(std::string_view list, std::string_view type,
                  std::string_view name);

}  // namespace penstock::doctor
