// Keys as `penstock lmdb import` writes them: the record's number of eight
// digits and, where the sample has a label, "/" and the label in decimal. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::lmdb {

// With eight digits keys are in the order of their numbers.
inline constexpr uint64_t kMostNumbered = 100'000'000;
inline constexpr int32_t kUnlabelled = -1;

// REQUIRES: number < kMostNumbered, label >= kUnlabelled.
std::string record_key(uint64_t number, int32_t label);

// The label in such a key; kUnlabelled of all others.
int32_t label_in_key(std::string_view key);

}  // namespace penstock::lmdb
