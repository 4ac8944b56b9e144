// Talks to penstockd from inside slurmstepd: never blocks for longer than its
// budget, and never trusts a socket that is not its owner's.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "common/protocol.h"

namespace penstock::spank {

enum class Outcome {
  kDone,
  kAbsent,    // no socket, or nobody listens: penstockd does not run
  kNotOurs,   // its listener is not the expected user
  kBusy,      // its queue is full
  kTimedOut,  // no reply within the budget
  kBadReply,  // a reply that is none, or a lost connection
};
const char* outcome_text(Outcome outcome);

// CLOCK_MONOTONIC.
uint64_t now_ns();

// What is left of the time that one step may wait for penstockd. A reply that
// does not come in time ends it: later requests of the step do not wait.
struct WaitBudget {
  uint64_t left_ns = 0;
};

// Both connect to socket_path (NUL-terminated, under 108 bytes), check that
// the listener is owner, send message as one packet and close.

// Does not wait.
Outcome send_message(const char* socket_path, uid_t owner, const void* message,
                     size_t size_bytes);

// Waits for the reply to message (it begins with a penstock_header), and for
// room in a full queue, and takes the time that took from budget. reply is
// written on kDone only. With nothing left in budget the message is sent and
// the outcome is kTimedOut.
Outcome request(const char* socket_path, uid_t owner, const void* message,
                size_t size_bytes, WaitBudget& budget, penstock_reply& reply);

}  // namespace penstock::spank
