// Failure messages: a rank that cannot go on sends its reason, so that the
// others need not wait for a time-out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exchange/memory/arena.h"
#include "exchange/transport/transport.h"

namespace penstock::exchange {

// Not thread-safe. The transport must outlive it, with requests_of(ranks)
// reserved requests beyond those of others.
class Failures {
 public:
  // Errors: kLimit  no memory
  [[nodiscard]] static Result<Failures> make(Transport& transport);
  static size_t requests_of(int ranks) { return size_t(ranks) + 1; }

  // Sends the reason, up to 255 bytes, to all other ranks; running ranks
  // receive it. Waits at most 1 s. Only the first call sends.
  void tell(const std::string& text);

  // "rank 2 has failed: TEXT", if a rank's message is there.
  std::optional<std::string> heard();

 private:
  Failures(Transport& transport, Arena memory);

  Transport& transport_;
  Arena memory_;  // abandoned if a message stays pending
  std::span<char> told_, heard_;
  std::vector<Transport::Request> sends_;
};

}  // namespace penstock::exchange
