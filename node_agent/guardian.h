// A second process that watches penstockd: when it dies suddenly, or stands
// still while threads are away, the guardian brings them home and removes our
// groups, so that no loader stays frozen behind a busy lender.
#pragma once

#include <functional>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

class Guardian {
 public:
  // Forks. In the child, clean_up runs when penstockd dies, and when
  // kPatience_ms pass after a heartbeat that said that something is away. The
  // child exits when it is dismissed, or after penstockd's death. REQUIRES:
  // called before any thread or event loop exists.
  static Result<Guardian> start(const std::function<void()>& clean_up);

  Guardian(Guardian&&) = default;
  Guardian& operator=(Guardian&&) = default;

  // Never waits.
  void beat(bool anything_away);

  // Everything is in order: the child exits without doing anything.
  void dismiss();

  static constexpr int kPatience_ms = 3000;

 private:
  explicit Guardian(UniqueFd pipe) : pipe_(std::move(pipe)) {}

  UniqueFd pipe_;
};

}  // namespace penstock
