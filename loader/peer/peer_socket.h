// Non-blocking TCP between nodes.
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

// Ports at which a node's cache may be served: kPeerPorts of them, or the whole
// range if it is smaller. They are a hash of `what` and fingerprint. Pure.
inline constexpr size_t kPeerPorts = 8;
std::vector<uint16_t> candidate_ports(const std::string& what,
                                      uint64_t fingerprint, uint16_t first,
                                      uint16_t last);

struct PeerAddress {
  sockaddr_storage it{};
  socklen_t bytes = 0;
};
// The machine's first address. Blocks for the name lookup.
// Errors: kNotFound
[[nodiscard]] Result<PeerAddress> resolve_peer(const std::string& node);

struct PeerListener {
  UnforkedFd fd;
  uint16_t port = 0;
};
// Listens on the first free port of `ports`.
//   address  numeric; "": all of the machine's
// Errors: kInvalidArgument  not an address; kUnavailable  all ports are taken;
//         kIo
[[nodiscard]] Result<PeerListener> listen_for_peers(
    const std::string& address, const std::vector<uint16_t>& ports);

// Whether the new descriptor lies below the last quarter of RLIMIT_NOFILE. That
// quarter is reserved for the program's own files.
bool can_spare(int fd);

// Starts a connection.
// Errors: kUnavailable  nobody listens there
//         kLimit  the program needs its descriptors itself; kIo
[[nodiscard]] Result<UnforkedFd> connect_peer(PeerAddress address,
                                              uint16_t port);
// Result of the connection attempt: 0, or an errno value.
int connect_outcome(int fd);
// Sends small messages at once (TCP_NODELAY) and detects dead machines
// (keep-alive, after 25 s).
void set_peer_options(int fd);

// Receives once, at most input.room() bytes, so that other connections get a
// turn. kEnd: the other side closed, an error, or no memory for the data.
enum class PeerReceived { kSome, kNothing, kEnd };
PeerReceived receive(int fd, PeerInput& input);

PeerNonce random_nonce();

}  // namespace penstock
