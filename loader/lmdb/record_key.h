// Keys that `penstock lmdb import` writes: the record's number with eight
// digits and, for a labelled sample, "/" and the label in decimal. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::lmdb {

// Limit of eight digits, up to which keys sort like their numbers.
inline constexpr uint64_t kMostNumbered = 100'000'000;
inline constexpr int32_t kUnlabelled = -1;

// REQUIRES: number < kMostNumbered, label >= kUnlabelled.
std::string record_key(uint64_t number, int32_t label);

// The label in the key of the record with this number, in key order;
// kUnlabelled for all other keys: other programs' keys may look alike, and what
// they have behind the slash is no label.
int32_t label_in_key(std::string_view key, uint64_t number);

}  // namespace penstock::lmdb
