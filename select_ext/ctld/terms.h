// Which of several controllers is active: decided by each of them alone, from
// what agents say of the terms that they have seen. Agents refuse grants of
// older terms, so that two who take themselves for active do no harm. Pure;
// not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace penstock {

class Terms {
 public:
  // place      among the controllers of penstock.conf, 0 is the primary
  // timeout_s  ControllerTimeout
  // own_term   the last one that this controller held, by its file; 0: none
  Terms(unsigned place, double timeout_s, uint64_t own_term);

  // What an agent said, or implied, of the terms that it has seen.
  //   silence_s  since it last heard of a controller of that term
  // True where that ends our own term: there is a newer one.
  bool heard(const std::string& node, uint64_t term, double silence_s,
             double now_s);
  // An agent has refused a grant of ours. True as heard().
  bool refused(uint64_t highest_term);

  // Whether this controller should become active now: it held the newest term
  // that any agent knows (it has been restarted), or every agent says that
  // whoever did has been silent for the time-out.
  bool should_begin(double now_s) const;

  // Begins a term: higher than all that were seen, and never the same as
  // another controller's. Its number.
  uint64_t begin();
  // Ends it; the next one is not begun before the time-out has passed.
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
