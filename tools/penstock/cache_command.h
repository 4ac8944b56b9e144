// `penstock cache`: the caches of samples on this node.
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
// Ctrl-C ends it; what is in the cache by then stays. What hinders it goes to
// errors.
[[nodiscard]] Status run_cache_warm(const CacheArguments& arguments,
                                    Terminal& terminal, std::ostream& errors);

// A line for who keeps a cache for longer than penstockd with that
// configuration does; "": there is none, or it removes it in time.
std::string shorter_keep(const CacheOwner& owner, uint64_t keep_s,
                         const std::string& config_path);

}  // namespace penstock
