// Sends requests to penstockd over its socket (docs/protocol.md).
#pragma once

#include <cstdint>
#include <string>

#include "common/result.h"

namespace penstock {

inline constexpr int kAskTimeoutMs = 2000;  // for each of connect, send, reply

// penstockd's JSON reply to PENSTOCK_STATUS. job_id: 0 for the node and all
// jobs that the caller may see.
// Errors: kUnavailable       no penstockd, or no reply in time
//         kNotFound          it runs no such job
//         kPermissionDenied  the job is another user's; or the socket is
//                            neither root's nor the caller's
//         kInvalidArgument   a reply that breaks the protocol
[[nodiscard]] Result<std::string> ask_status(const std::string& socket_path,
                                             uint32_t job_id,
                                             int timeout_ms = kAskTimeoutMs);

// Longer, because moving the threads of many jobs home takes time.
inline constexpr int kSwitchTimeoutMs = 10'000;

// penstockd's JSON reply to PENSTOCK_SWITCH.
// Errors: as ask_status();  kPermissionDenied  the caller is not root
[[nodiscard]] Result<std::string> ask_switch(const std::string& socket_path,
                                             bool off,
                                             int timeout_ms = kSwitchTimeoutMs);

}  // namespace penstock
