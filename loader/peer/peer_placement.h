// Maps each sample to the node that caches it, by rendezvous hashing. This
// needs no directory, and if a node is removed only its samples move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// Immutable. The same names in any order give the same node.
class PeerPlacement {
 public:
  // REQUIRES: nodes is not empty; its names are unique.
  explicit PeerPlacement(const std::vector<std::string>& nodes);

  // Index of the sample's owner in `nodes`. O(nodes).
  size_t owner(uint64_t index) const;

 private:
  std::vector<uint64_t> hashes_;  // of the names
};

}  // namespace penstock
