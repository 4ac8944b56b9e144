// `penstock cache`: the caches of samples on this node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "penstock/loader/dataset.h"
#include "tools/penstock/command.h"

namespace penstock {

struct CacheArguments {
  std::string group;               // whose caches; "": the user's own
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
// Ctrl-C ends it; what is in the cache by then stays.
[[nodiscard]] Status run_cache_warm(const CacheArguments& arguments,
                                    Terminal& terminal);

}  // namespace penstock
