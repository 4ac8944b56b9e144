// A second process that outlives penstockd's sudden death for a moment: it
// brings away threads home and removes our groups, so that no loader stays
// frozen behind a busy lender until somebody restarts the daemon.
#pragma once

#include <functional>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

class Guardian {
 public:
  // Forks. In the child, waits until penstockd dismisses it or dies; then
  // clean_up runs unless it was dismissed, and the child exits.
  // REQUIRES: called before any thread or event loop exists.
  static Result<Guardian> start(const std::function<void()>& clean_up);

  Guardian(Guardian&&) = default;
  Guardian& operator=(Guardian&&) = default;

  // Everything is in order: the child exits without doing anything.
  void dismiss();

 private:
  explicit Guardian(UniqueFd pipe) : pipe_(std::move(pipe)) {}

  UniqueFd pipe_;
};

}  // namespace penstock
