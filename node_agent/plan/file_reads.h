// What a job's loader reads from files, as two looks at its processes tell.
// Pure.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

struct ReadCounters {
  uint64_t bytes = 0;
  uint64_t calls = 0;
};

// A file on a network file system.
struct NetworkFile {
  std::string type;   // "nfs4", "fuse.sshfs"
  std::string mount;  // where that file system is
  std::string path;

  friend auto operator<=>(const NetworkFile&, const NetworkFile&) = default;
};

// broker/reads_look.h.
struct ReadsLook {
  uint64_t time_ns = 0;
  std::map<pid_t, ReadCounters> by_process;
  std::set<NetworkFile> files;  // open for reading
};
// Errors: kInvalidArgument  a malformed line
[[nodiscard]] Result<ReadsLook> parse_reads_look(std::string_view text);

// Reads from a network file system, of all of the job's loader processes.
struct NetworkReads {
  double calls_per_s = 0;
  double bytes_per_call = 0;
  std::string type;   // of the file system
  std::string mount;  // where it is
  // The folder that holds all files that were seen, or the only file; "": the
  // whole mount.
  std::string source;
};
// Of the processes that both looks have, times processes / their number.
//   files  seen so far
// nullopt: they have none in common, nothing was read, or no file of such a
// file system was seen. Of several file systems it takes the one with most
// files.
std::optional<NetworkReads> network_reads(const ReadsLook& before,
                                          const ReadsLook& after,
                                          const std::set<NetworkFile>& files,
                                          size_t processes);

}  // namespace penstock
