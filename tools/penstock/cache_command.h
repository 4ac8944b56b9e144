// `penstock cache`: the sample caches of this node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "loader/cache/cache_folder.h"
#include "penstock/loader/dataset.h"
#include "tools/penstock/command.h"

namespace penstock {

struct CacheArguments {
  std::string group;               // owner of the caches; "": the user
  bool json = false;               // of status
  std::vector<std::string> names;  // of drop
  bool all = false;                // of drop
  // Of warm:
  std::vector<std::string> data;
  std::optional<RecordLayout> records;
  std::string size = "auto";
  std::string name;
  uint64_t keep_s = 600;
};

// Errors of all: those of loader/cache; kNotFound  no such group.
[[nodiscard]] Status run_cache_status(const CacheArguments& arguments,
                                      Terminal& terminal);
[[nodiscard]] Status run_cache_drop(const CacheArguments& arguments,
                                    Terminal& terminal);
// Ctrl-C ends it; samples cached by then stay. Warnings go to errors.
[[nodiscard]] Status run_cache_warm(const CacheArguments& arguments,
                                    Terminal& terminal, std::ostream& errors);

// A warning if penstockd, with that configuration, removes the owner's cache
// before keep_s; "": no configuration, or no difference.
std::string shorter_keep(const CacheOwner& owner, uint64_t keep_s,
                         const std::string& config_path);

}  // namespace penstock
