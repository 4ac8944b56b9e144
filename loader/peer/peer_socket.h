// TCP between nodes, without waiting.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/result.h"
#include "loader/peer/peer_wire.h"
#include "loader/peer/unforked_fd.h"

namespace penstock {

// Where a node's cache may be served: kPeerPorts numbers, or as many as the
// range has, that follow from what is served. Pure.
inline constexpr size_t kPeerPorts = 8;
std::vector<uint16_t> candidate_ports(const std::string& what,
                                      uint64_t fingerprint, uint16_t first,
                                      uint16_t last);

struct PeerAddress {
  sockaddr_storage it{};
  socklen_t bytes = 0;
};
// A machine's first one. Waits for whoever knows names.
// Errors: kNotFound
[[nodiscard]] Result<PeerAddress> resolve_peer(const std::string& node);

struct PeerListener {
  UnforkedFd fd;
  uint16_t port = 0;
};
// On the first of the ports that is free.
//   address  numeric; "": all of the machine's
// Errors: kInvalidArgument  no address; kUnavailable  all are taken; kIo
[[nodiscard]] Result<PeerListener> listen_for_peers(
    const std::string& address, const std::vector<uint16_t>& ports);

// Whether the program can spare a descriptor that it was given: the last
// quarter of what it may have is for its own files.
bool can_spare(int fd);

// Begins to connect.
// Errors: kUnavailable  nobody listens there
//         kLimit  the program needs its descriptors itself; kIo
[[nodiscard]] Result<UnforkedFd> connect_peer(PeerAddress address,
                                              uint16_t port);
// What became of it: 0, or an errno value.
int connect_outcome(int fd);
// Small messages at once, and a machine that is gone is noticed.
void set_peer_options(int fd);

// Takes in what has come, at most so much that others have a turn too. kEnd:
// the other side closed, or there is no memory for what it says.
enum class PeerReceived { kSome, kNothing, kEnd };
PeerReceived receive(int fd, PeerInput& input);

PeerNonce random_nonce();

// What another thread wakes a loop with.
class PeerWaker {
 public:
  PeerWaker();
  bool is_open() const { return bool(fd_); }
  int fd() const { return fd_.get(); }
  void wake() const;
  void clear() const;

 private:
  UniqueFd fd_;
};

}  // namespace penstock
