// The pings of connections, of both ends.
#pragma once

namespace penstock {

inline constexpr int kHeartbeat_ms = 5000;
// A peer that is silent for longer is gone.
inline constexpr int kHeartbeatTimeout_ms = 15000;

}  // namespace penstock
