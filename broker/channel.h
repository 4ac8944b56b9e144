// One datagram with at most kMost descriptors, sent or received. Used by both
// ends of the broker's socket.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

struct Datagram {
  static constexpr size_t kMost = 2;

  std::vector<std::byte> bytes;  // empty: the other end has closed the socket
  std::vector<UniqueFd> fds;
};

// Both block for as long as the socket's own limits (SO_SNDTIMEO, SO_RCVTIMEO)
// allow, and go on after EINTR.
// Errors: kUnavailable  the limit has passed;  kLimit  the datagram is longer
//         than max_bytes;  kIo.
[[nodiscard]] Status send_datagram(int socket, std::span<const std::byte> bytes,
                                   std::span<const int> fds = {});
[[nodiscard]] Result<Datagram> receive_datagram(int socket, size_t max_bytes);

}  // namespace penstock
