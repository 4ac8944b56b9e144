// How penstockd gets a broker, and gives up root.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// The socket of a new broker, which ends when the socket is closed. Root starts
// the penstock-broker in the folder of this program, with these arguments. For
// another user systemd does, at a connection to kBrokerSocket.
// Errors: kNotFound, kIo, kPermissionDenied.
[[nodiscard]] Result<UniqueFd> open_broker(
    const std::vector<std::string>& arguments);

// Of penstock-broker.socket.
inline constexpr const char* kBrokerSocket = "/run/penstock-broker.sock";

// Ends a broker whose penstockd has died, even if other processes hold the
// socket. Returns when the broker has done what it was asked and has ended.
// Errors: kUnavailable  it has not ended within patience_ms.
[[nodiscard]] Status end_broker(UniqueFd socket, int patience_ms);

// Root becomes this user for good, with the account's groups, if it has one,
// and without capabilities. REQUIRES: root, and no other thread.
// Errors: kIo, kPermissionDenied: the process must end.
[[nodiscard]] Status become_user(uid_t user);

}  // namespace penstock
