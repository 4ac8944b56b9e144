// Slurm's own files, as far as Penstock depends on them: "Key=value" files
// (slurm.conf, cgroup.conf) and plugstack.conf. Pure but for the readers that
// are given.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock::doctor {

using ReadText = std::function<Result<std::string>(const std::string& path)>;
// The files that a pattern names, in order.
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
  // As Slurm takes it: keys without regard to case, the last one counts.
  // nullptr: not set.
  const SlurmSetting* find(std::string_view key) const;
  std::string value_or(std::string_view key, std::string fallback) const;

  std::vector<SlurmSetting> settings;
};

// A file and those that it includes; what is no setting is left out, for Slurm
// itself complains of it.
// Errors: read's;  kLimit  over 100 files, as where one includes itself.
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

// plugstack.conf and the files that it includes by patterns.
// Errors: as read_slurm_conf()
[[nodiscard]] Result<std::vector<PlugstackLine>> read_plugstack(
    const std::string& path, const ReadText& read, const ExpandGlob& expand);

// Whether a list such as TaskPlugin's "task/cgroup,affinity" has the plugin;
// newer releases let the type before the '/' be left out.
bool names_plugin(std::string_view list, std::string_view type,
                  std::string_view name);

}  // namespace penstock::doctor
