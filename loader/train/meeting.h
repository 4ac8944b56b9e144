// Ranks that wait for each other after every step, as those of synchronous
// training do; stands for the exchange of gradients. Over TCP.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

class Meeting {
 public:
  // Waits until all have come, for up to kJoin_s.
  //   address  "HOST:PORT", an IPv4 address; rank 0 listens there
  // Errors: kInvalidArgument  not such an address, or rank not under ranks
  //         kUnavailable      not all ranks came in time, or `stop`
  //         kIo               the port is taken, say
  static Result<Meeting> join(const std::string& address, unsigned rank,
                              unsigned ranks, const std::atomic<bool>& stop);

  // Returns true once all ranks have called it as often; false when one of
  // them has left, or on `stop`.
  bool wait(const std::atomic<bool>& stop);

  static constexpr int kJoin_s = 60;

 private:
  std::vector<UniqueFd> others_;  // of rank 0 all the rest, of these rank 0
  bool leads_ = false;
};

}  // namespace penstock
