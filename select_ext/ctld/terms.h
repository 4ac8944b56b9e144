// Decides which of several controllers is active. Each controller decides
// alone, from the terms that agents have seen. Agents refuse grants of older
// terms, so two controllers that consider themselves active do no harm. Pure;
// not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace penstock {

class Terms {
 public:
  // place      index among the controllers of penstock.conf, 0: the primary
  // timeout_s  ControllerTimeout
  // own_term   the last term of this controller, from its file; 0: none
  Terms(unsigned place, double timeout_s, uint64_t own_term);

  // Takes an agent's report of the highest term that it has seen.
  //   silence_s  since it last heard a controller of that term
  // Returns true if that ends our own term, because a newer one exists.
  bool heard(const std::string& node, uint64_t term, double silence_s,
             double now_s);
  // An agent has refused a grant of ours. Returns as heard().
  bool refused(uint64_t highest_term);

  // True if this controller should become active now. Either it held the newest
  // term that any agent knows (it was restarted), or every agent reports that
  // the holder has been silent for the time-out.
  bool should_begin(double now_s) const;

  // Begins a term and returns it: higher than all terms seen, and never equal
  // to another controller's.
  uint64_t begin();
  // Ends the term; the next one begins only after the time-out.
  void step_down(double now_s);

  bool is_active() const { return term_ != 0; }
  uint64_t term() const { return term_; }  // 0: not active
  uint64_t highest() const { return highest_; }

  // Terms are k x kPlaces + place.
  static constexpr uint64_t kPlaces = 16;

 private:
  struct Statement {
    uint64_t term = 0;
    double silence_s = 0;
    double heard_s = 0;
  };

  unsigned place_;
  double timeout_s_;
  uint64_t own_term_;
  uint64_t term_ = 0;
  uint64_t highest_;
  double first_heard_s_ = -1;
  double not_before_s_ = 0;
  std::map<std::string, Statement> statements_;
};

}  // namespace penstock
