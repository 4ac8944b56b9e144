// Whether the processes that share a window are still there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::lmdb {

struct PeerProcess {
  uint64_t pid = 0;
  uint64_t start_ticks = 0;  // since boot: a pid alone is given again

  bool operator==(const PeerProcess&) const = default;
};

// The process as /proc shows it; none: it is not there, or ended and not yet
// waited for.
std::optional<PeerProcess> process_of(uint64_t pid);

class PeerWatch {
 public:
  // Peers that cannot be seen, as in other pid namespaces, are not watched.
  explicit PeerWatch(const std::vector<PeerProcess>& peers);

  // The first that ended since, by its place in peers. A few microseconds a
  // peer.
  std::optional<size_t> find_ended() const;

 private:
  std::vector<std::optional<PeerProcess>> watched_;
};

}  // namespace penstock::lmdb
