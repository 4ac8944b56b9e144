// Runs blocking calls (munged, name lookups) outside of a socket loop. A thread
// runs them one after the other. It may outlive the object while a call hangs.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace penstock {

// For one thread: the socket loop's.
class PeerChores {
 public:
  using Then = std::function<void()>;
  // Runs in the chore thread; the returned function runs in finish().
  using Chore = std::function<Then()>;

  // wake: called in the chore thread when finish() has something to run.
  explicit PeerChores(std::function<void()> wake);
  ~PeerChores();  // does not wait for a running chore
  PeerChores(const PeerChores&) = delete;
  PeerChores& operator=(const PeerChores&) = delete;

  // False: the queue is full, or the thread cannot be started.
  [[nodiscard]] bool add(Chore chore);
  // Runs the functions that finished chores returned.
  void finish();

 private:
  struct State;
  static void work(State& state);

  const std::shared_ptr<State> state_;
  bool has_thread_ = false;
};

}  // namespace penstock
