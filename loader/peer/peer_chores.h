// What a loop that serves sockets must not wait for: munged, and the names of
// machines. One thread does them, one after the other, and may outlive the
// object while it hangs in one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace penstock {

// For one thread, the loop's.
class PeerChores {
 public:
  using Then = std::function<void()>;
  // Done by the other thread; what it returns is for the loop.
  using Chore = std::function<Then()>;

  // wake: called by the other thread when there is something for finish().
  explicit PeerChores(std::function<void()> wake);
  ~PeerChores();  // never waits
  PeerChores(const PeerChores&) = delete;
  PeerChores& operator=(const PeerChores&) = delete;

  // False: too much is waiting already, or there is no thread.
  [[nodiscard]] bool add(Chore chore);
  // Runs what the chores that are done returned.
  void finish();

 private:
  struct State;
  static void work(State& state);

  const std::shared_ptr<State> state_;
  bool has_thread_ = false;
};

}  // namespace penstock
