// Which node of a job has a sample's place in the caches of all: rendezvous
// hashing, so that nobody asks a directory, and of a node that goes only its
// own samples get another place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// Immutable. Who has the same names, in whatever order, finds the same node.
class PeerPlacement {
 public:
  // REQUIRES: names are not empty, and differ.
  explicit PeerPlacement(const std::vector<std::string>& nodes);

  // The number of its node. O(nodes).
  size_t owner(uint64_t index) const;

 private:
  std::vector<uint64_t> hashes_;  // of the names
};

}  // namespace penstock
