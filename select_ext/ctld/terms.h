// Decides which of several controllers is active. Each controller decides
// alone, from the terms that nodes report. Nodes refuse grants of older terms,
// so two controllers that consider themselves active do no harm.
//
// A node may report anything. Therefore more than half of the nodes heard
// within the time-out decide: whether a term ends, and whether its holder is
// silent. A report may raise the next term by at most kMaxStep above what most
// nodes report, so that terms are never used up. Fewer than half of the nodes
// thus cannot end a term, prevent the next one, or make others refuse it. Of
// two nodes, one that lies can prevent the next term. A node is a name: a
// machine whose root invents names has as many votes, and can do both until it
// is stopped, but not for good.
//
// Pure; not thread-safe. now_s: monotonic, the same clock in all calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace penstock {

class Terms {
 public:
  // place      index among the controllers of penstock.conf, 0: the primary
  // timeout_s  ControllerTimeout
  // own_term   the last term of this controller, from its file; 0: none
  Terms(unsigned place, double timeout_s, uint64_t own_term);

  // Takes a node's report of the highest term that it has seen.
  //   silence_s  since it last heard a controller of that term
  void heard(const std::string& node, uint64_t term, double silence_s,
             double now_s);
  void forget(const std::string& node) { statements_.erase(node); }

  // True if most nodes hear the controller of a newer term: ours has ended.
  bool is_outdated(double now_s) const;

  // True if this controller should begin a term now. If it is active: a node
  // has known a newer term for a time-out, longer than another controller would
  // need to end ours, and refuses our grants. Else: it was restarted, and most
  // nodes know no newer term than it held, or most report that the holder has
  // been silent for the time-out.
  bool should_begin(double now_s) const;

  // Begins a term and returns it: higher than all plausible terms reported, and
  // never equal to another controller's.
  uint64_t begin(double now_s);
  // Ends the term; the next one begins only after the time-out.
  void step_down(double now_s);

  bool is_active() const { return term_ != 0; }
  uint64_t term() const { return term_; }  // 0: not active

  // Terms are k x kPlaces + place.
  static constexpr uint64_t kPlaces = 16;
  static constexpr uint64_t kMaxStep = uint64_t{1} << 16;
  // Half of what messages may carry. Most nodes lie if they report more.
  static constexpr uint64_t kMostReported = uint64_t{1} << 52;

 private:
  struct Statement {
    uint64_t term = 0;
    double since_s = 0;  // of the first report of this term
    double silence_s = 0;
    double heard_s = 0;
  };
  // Of the nodes heard within the time-out.
  std::vector<Statement> votes(double now_s) const;
  uint64_t highest_plausible(const std::vector<Statement>& said) const;

  unsigned place_;
  double timeout_s_;
  uint64_t own_term_;  // the last one that this controller held
  uint64_t term_ = 0;
  bool may_resume_;
  double first_heard_s_ = -1;
  double not_before_s_ = 0;
  std::map<std::string, Statement> statements_;
};

}  // namespace penstock
