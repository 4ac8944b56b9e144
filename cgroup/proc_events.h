// Client of the kernel's proc connector: forks, execs, exits and renames of the
// whole machine, as they happen. Needs the initial user and pid namespaces and
// CONFIG_PROC_EVENTS. Older kernels also require CAP_NET_ADMIN; 6.18 does not.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

struct ProcEvent {
  enum class Kind { kFork, kExec, kExit, kComm };
  Kind kind = Kind::kFork;
  pid_t tid = 0;         // the thread concerned; kFork: the new thread
  pid_t pid = 0;         // its process; tid == pid: a process, not a thread
  pid_t parent_pid = 0;  // kFork, kExit: the process's parent, as from
                         // getppid(2); also for a new thread
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
};

// Decodes one datagram and appends its events. Skips kinds that ProcEvent
// lacks. Pure.
// Errors: kInvalidArgument  not a proc connector message; events before the
// bad one stay appended.
[[nodiscard]] Status decode_proc_events(std::span<const std::byte> datagram,
                                        std::vector<ProcEvent>& events);

class ProcEvents {
 public:
  // Subscribes and waits at most 200 ms for the kernel's acknowledgement. Scan
  // /proc afterwards for older processes.
  // Errors: kPermissionDenied;  kUnavailable  the kernel has no connector or
  // did not answer; poll /proc instead.
  [[nodiscard]] static Result<ProcEvents> subscribe();

  // socket: of an object that has subscribed.
  explicit ProcEvents(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd release() { return std::move(socket_); }

  // Non-blocking fd; readable when events are available.
  int fd() const { return socket_.get(); }

  struct Batch {
    std::vector<ProcEvent> events;
    bool lost = false;  // the socket overflowed: rescan /proc
    bool more = false;  // max_datagrams was reached: call again
  };
  // Reads available events from at most max_datagrams; the batch may be empty.
  // Ignores datagrams that do not come from the kernel.
  [[nodiscard]] Result<Batch> read(size_t max_datagrams = 4096);

 private:
  UniqueFd socket_;
};

}  // namespace penstock
