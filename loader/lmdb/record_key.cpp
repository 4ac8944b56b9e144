#include "loader/lmdb/record_key.h"

#include <algorithm>

#include "common/text_scan.h"

namespace penstock::lmdb {
namespace {

constexpr size_t kDigits = 8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string record_key(uint64_t number, int32_t label) {
  const std::string digits = std::to_string(number);
  std::string key = std::string(kDigits - digits.size(), '0') + digits;
  if (label != kUnlabelled) key += "/" + std::to_string(label);
  return key;
}

int32_t label_in_key(std::string_view key, uint64_t number) {
  uint64_t named = 0;
  if (key.size() < kDigits + 2 || key[kDigits] != '/' ||
      !std::all_of(key.begin(), key.begin() + kDigits, is_digit) ||
      !to_number(key.substr(0, kDigits), named) || named != number) {
    return kUnlabelled;
  }
  const std::string_view digits = key.substr(kDigits + 1);
  // Accepts only the written form: no sign, no leading zeros.
  if (!is_digit(digits[0]) || (digits[0] == '0' && digits.size() > 1)) {
    return kUnlabelled;
  }
  int32_t label = 0;
  return to_number(digits, label) ? label : kUnlabelled;
}

}  // namespace penstock::lmdb
