// How a rank that cannot go on tells the others, so that they need not wait
// for a time-out.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "exchange/transport/transport.h"

namespace penstock::exchange {

// For one thread. The transport must outlive it, with room for
// requests_of(ranks) beside what else it does.
class Failures {
 public:
  explicit Failures(Transport& transport);
  static size_t requests_of(int ranks) { return size_t(ranks) + 1; }

  // What failed, to all others: a rank that is there hears of it. Waits for a
  // second at most. Once; more is not sent.
  void tell(const std::string& text);

  // "rank 2 has failed: TEXT", where one has.
  std::optional<std::string> heard();

 private:
  static constexpr size_t kMostText = 256;
  using Text = std::array<char, kMostText>;

  Transport& transport_;
  Text told_{}, heard_{};
  std::vector<Transport::Request> sends_;
};

}  // namespace penstock::exchange
