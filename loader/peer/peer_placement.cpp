#include "loader/peer/peer_placement.h"

#include "common/checksum.h"
#include "loader/data/random.h"

namespace penstock {

PeerPlacement::PeerPlacement(const std::vector<std::string>& nodes) {
  hashes_.reserve(nodes.size());
  for (const std::string& node : nodes) hashes_.push_back(checksum(node));
}

size_t PeerPlacement::owner(uint64_t index) const {
  const uint64_t sample = mix64(index);
  size_t best = 0;
  uint64_t best_weight = 0;
  for (size_t i = 0; i < hashes_.size(); ++i) {
    const uint64_t weight = finalise64(hashes_[i] ^ sample);
    if (i == 0 || weight > best_weight) {
      best = i;
      best_weight = weight;
    }
  }
  return best;
}

}  // namespace penstock
