// A barrier of ranks over TCP after every step, in place of the gradient
// exchange of synchronous training.
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
  // Waits at most kJoin_s until all ranks have connected.
  //   address  "HOST:PORT", an IPv4 address; rank 0 listens there
  // Errors: kInvalidArgument  not such an address; rank >= ranks
  //         kUnavailable      not all ranks came in time, or `stop`
  //         kIo and others    cannot listen; the port is taken, for instance
  static Result<Meeting> join(const std::string& address, unsigned rank,
                              unsigned ranks, const std::atomic<bool>& stop);

  // True once all ranks have called it equally often; false if one of them has
  // left, or on `stop`.
  bool wait(const std::atomic<bool>& stop);

  static constexpr int kJoin_s = 60;

 private:
  std::vector<UniqueFd> others_;  // rank 0: all others; others: rank 0
  bool leads_ = false;
};

}  // namespace penstock
