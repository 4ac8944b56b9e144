#include "loader/peer/peer_placement.h"

#include "common/checksum.h"

namespace penstock {
namespace {

// SplitMix64's finaliser: each input bit changes about half of the output bits.
constexpr uint64_t mixed(uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

}  // namespace

PeerPlacement::PeerPlacement(const std::vector<std::string>& nodes) {
  hashes_.reserve(nodes.size());
  for (const std::string& node : nodes) hashes_.push_back(checksum(node));
}

size_t PeerPlacement::owner(uint64_t index) const {
  const uint64_t sample = mixed(index + 0x9e3779b97f4a7c15);
  size_t best = 0;
  uint64_t best_weight = 0;
  for (size_t i = 0; i < hashes_.size(); ++i) {
    const uint64_t weight = mixed(hashes_[i] ^ sample);
    if (i == 0 || weight > best_weight) {
      best = i;
      best_weight = weight;
    }
  }
  return best;
}

}  // namespace penstock
