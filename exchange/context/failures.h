// How a rank that cannot go on tells the others, so that they need not wait
// for a time-out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exchange/memory/arena.h"
#include "exchange/transport/transport.h"

namespace penstock::exchange {

// For one thread. The transport must outlive it, with room for
// requests_of(ranks) beside what else it does.
class Failures {
 public:
  // Errors: kLimit  no memory for it
  [[nodiscard]] static Result<Failures> make(Transport& transport);
  static size_t requests_of(int ranks) { return size_t(ranks) + 1; }

  // What failed, to all others: a rank that is there hears of it. Waits for a
  // second at most. Once; more is not sent.
  void tell(const std::string& text);

  // "rank 2 has failed: TEXT", where one has.
  std::optional<std::string> heard();

 private:
  Failures(Transport& transport, Arena memory);

  Transport& transport_;
  Arena memory_;  // stays where a rank has not taken what it was told
  std::span<char> told_, heard_;
  std::vector<Transport::Request> sends_;
};

}  // namespace penstock::exchange
