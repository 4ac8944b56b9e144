// Listening TCP sockets. All descriptors are non-blocking.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

struct ListenAddress {
  std::string host;  // a name or an address; "": all of this machine's
  int port = 0;      // 0: any free one

  std::string to_string() const;
};

// One socket per address of the host.
// Errors: kUnavailable  names the address and the reason
[[nodiscard]] Result<std::vector<UniqueFd>> listen_at(
    const ListenAddress& address);

// The port of a listening socket; 0 on error.
int port_of(int listening);

struct AcceptedSocket {
  UniqueFd fd;          // none: errno says why
  std::string network;  // an IPv4 address, or an IPv6 network of 64 bits
};
AcceptedSocket accept_from(int listening);

}  // namespace penstock
