// Client of penstockd inside slurmstepd. Never blocks for longer than the
// step's budget; refuses a socket whose listener is not the expected user.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "common/protocol.h"

namespace penstock::spank {

enum class Outcome {
  kDone,
  kAbsent,    // no socket or no listener: penstockd does not run
  kNotOurs,   // the socket's listener is not the expected user
  kBusy,      // the socket's queue is full
  kTimedOut,  // no reply within the budget
  kBadReply,  // malformed reply, or the connection was lost
};
const char* outcome_text(Outcome outcome);

// Time that one step may still wait for penstockd. A timeout sets it to 0, so
// that later requests of the step do not wait.
struct WaitBudget {
  uint64_t left_ns = 0;
};

// Both functions connect to socket_path (NUL-terminated, under 108 bytes),
// check that the listener runs as `owner`, send message as one packet and close
// the connection.

// Never blocks.
Outcome send_message(const char* socket_path, uid_t owner, const void* message,
                     size_t size_bytes);

// Waits for the reply to message (which begins with a penstock_header), and for
// room in a full queue. Subtracts the time from budget. Writes reply on kDone
// only. With an empty budget it still sends the message and returns kTimedOut.
Outcome request(const char* socket_path, uid_t owner, const void* message,
                size_t size_bytes, WaitBudget& budget, penstock_reply& reply);

}  // namespace penstock::spank
