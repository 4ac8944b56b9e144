// Reads the site's profile of a model in a child process: ProfileDir may be on
// a network file system that does not answer.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "common/result.h"
#include "node_agent/bounded_child.h"

namespace penstock {

inline constexpr uint64_t kSiteProfileDeadline_ms = 5000;

struct SiteProfile {
  std::string path;  // empty: the site has none of this name
  std::string text;
};

// Calls back once, with DIRECTORY/NAME.toml, else NAME.json, or
//   kUnavailable  kSiteProfileDeadline_ms passed, or too many children run
//   kIo           read_admin_file() refuses the file; it may exist
// user: whose job named it.
void read_site_profile(BoundedChildren& children, const std::string& directory,
                       const std::string& name, uid_t user,
                       std::function<void(Result<SiteProfile>)> callback);

}  // namespace penstock
