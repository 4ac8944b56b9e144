// A connection as penstockd and its broker have it.
#pragma once

#include <sys/socket.h>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"

namespace penstock::test {

struct SocketPair {
  SocketPair() {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    here.reset(fds[0]);
    there.reset(fds[1]);
  }
  UniqueFd here, there;
};

}  // namespace penstock::test
