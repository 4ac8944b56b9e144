// The kernel's proc connector: forks, execs, exits and renames of the whole
// machine, as they happen. Needs the first user and pid namespaces and
// CONFIG_PROC_EVENTS, and CAP_NET_ADMIN unless the kernel is recent (6.18
// asks for none).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

struct ProcEvent {
  enum class Kind { kFork, kExec, kExit, kComm };
  Kind kind = Kind::kFork;
  pid_t tid = 0;         // whom it happened to; for kFork the new thread
  pid_t pid = 0;         // its process; tid == pid: a process, not a thread
  pid_t parent_tid = 0;  // kFork, kExit: the process's parent, as getppid(2)
                         // tells; for a new thread too
  pid_t parent_pid = 0;
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  std::string comm;      // kComm: the new name
};

// Decodes the bytes of one datagram and appends the events in it; kinds that
// are not in ProcEvent are passed over. Pure.
// Errors: kInvalidArgument  not a proc connector message; events before the
// bad one stay appended.
[[nodiscard]] Status decode_proc_events(std::span<const std::byte> datagram,
                                        std::vector<ProcEvent>& events);

class ProcEvents {
 public:
  // Subscribes, and waits (at most 200 ms) for the kernel's acknowledgement;
  // scan /proc after it, for what was there before.
  // Errors: kPermissionDenied;  kUnavailable  the kernel has no connector, or
  // did not answer: poll instead.
  [[nodiscard]] static Result<ProcEvents> subscribe();

  // Non-blocking; readable when events are there.
  int fd() const { return socket_.get(); }

  struct Batch {
    std::vector<ProcEvent> events;
    bool lost = false;  // the socket overflowed: rescan /proc
    bool more = false;  // the bound was reached, call again
  };
  // What has come, at most max_datagrams; nothing is an empty batch. A
  // datagram that is not the kernel's is passed over.
  [[nodiscard]] Result<Batch> read(size_t max_datagrams = 4096);

 private:
  explicit ProcEvents(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

}  // namespace penstock
