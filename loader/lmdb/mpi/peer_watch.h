// Detects the end of processes that share a window.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::lmdb {

struct PeerProcess {
  uint64_t pid = 0;
  uint64_t start_ticks = 0;  // since boot; pids alone are reused

  bool operator==(const PeerProcess&) const = default;
};

// The process by /proc; nullopt: it does not exist, or is a zombie.
std::optional<PeerProcess> process_of(uint64_t pid);

class PeerWatch {
 public:
  // Invisible peers, such as those in other pid namespaces, are not watched.
  explicit PeerWatch(const std::vector<PeerProcess>& peers);

  // Index in peers of the first that has ended. Takes a few microseconds per
  // peer.
  std::optional<size_t> find_ended() const;

 private:
  std::vector<std::optional<PeerProcess>> watched_;
};

}  // namespace penstock::lmdb
