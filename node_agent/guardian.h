// A second process that watches penstockd: when it dies suddenly, or stands
// still while threads are away, the guardian brings them home and removes our
// groups, so that no loader stays frozen behind a busy lender.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

class Guardian {
 public:
  static constexpr int kPatience_ms = 3000;

  // Forks. In the child, clean_up runs when penstockd dies, and when
  // patience_ms pass after a heartbeat that said that something is away. The
  // child exits when it is dismissed, or after penstockd's death. REQUIRES:
  // called before any thread or event loop exists.
  static Result<Guardian> start(const std::function<void()>& clean_up,
                                int patience_ms = kPatience_ms);

  Guardian(Guardian&&) = default;
  Guardian& operator=(Guardian&&) = default;

  // Never waits.
  void beat(bool anything_away);

  // How often clean_up has ended. It may run while penstockd goes on already,
  // so that what penstockd did meanwhile may be undone: whoever sees another
  // number than before begins anew.
  uint32_t clean_ups() const { return *clean_ups_; }

  // Everything is in order: the child exits without doing anything.
  void dismiss();

 private:
  struct Unmap {
    void operator()(std::atomic<uint32_t>* shared) const;
  };
  using SharedCount = std::unique_ptr<std::atomic<uint32_t>, Unmap>;

  Guardian(UniqueFd pipe, SharedCount clean_ups)
      : pipe_(std::move(pipe)), clean_ups_(std::move(clean_ups)) {}

  UniqueFd pipe_;
  SharedCount clean_ups_;  // written by the child
};

}  // namespace penstock
