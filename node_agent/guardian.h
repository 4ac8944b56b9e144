// A second process that watches penstockd. If penstockd dies, or hangs while
// threads are away, the guardian brings them home and removes our groups.
// Otherwise loaders would stay frozen behind busy lenders.
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

  enum class Cause { kHangs, kDied };
  using CleanUp = std::function<void(Cause)>;

  // Forks. The child runs clean_up when penstockd dies, and when no heartbeat
  // follows within patience_ms after one with anything_away. The child exits on
  // dismiss(), after penstockd's death, and when needed_socket, without which
  // clean_up cannot work, hangs up.
  // REQUIRES: called before any thread or event loop exists.
  static Result<Guardian> start(const CleanUp& clean_up, int needed_socket,
                                int patience_ms = kPatience_ms);

  Guardian(Guardian&&) = default;
  Guardian& operator=(Guardian&&) = default;

  // Sends a heartbeat. Never blocks.
  void beat(bool anything_away);

  // Number of finished clean-ups. A clean-up may overlap with a penstockd that
  // has resumed, and undo its work. When the number changes, the caller must
  // set up its groups again.
  uint32_t clean_ups() const { return *clean_ups_; }

  // Ends the child without a clean-up.
  void dismiss();

  // Hangs up when the child ends. Valid until dismiss().
  int descriptor() const { return pipe_.get(); }

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
