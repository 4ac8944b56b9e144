// The cluster controllers' last grant to this node, and whether it is in force.
// Grants of older terms and versions are refused. A grant ends when the
// controller has been silent for the time-out. After kMostSilence time-outs
// without a controller of the newest term, a grant of an older one is taken:
// the newest one may be that of a controller that hostile nodes misled. Pure;
// not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "wire/messages.h"

namespace penstock {

class ClusterGrant {
 public:
  // now_s: monotonic, the same clock in all calls. term: the one to follow
  // from before a restart; 0: none.
  ClusterGrant(double timeout_s, double now_s, uint64_t term = 0)
      : timeout_s_(timeout_s), heard_s_(now_s), term_(term) {}

  // More than a controller needs to take over from others.
  static constexpr double kMostSilence = 4;

  struct Taken {
    bool is_new = false;             // the plan is outdated
    bool is_new_term = false;        // save term(), for a restart
    std::optional<Refused> refused;  // the reply to the sender
  };
  Taken take(const NodeGrant& grant, double now_s);
  // Handles a beat. Returns the reply to a beat of an older term.
  std::optional<Refused> take(const Beat& beat, double now_s);

  // Returns true once, when the controller has been silent for the time-out.
  // Its grant has then ended, and the node plans alone.
  bool expire(double now_s);

  bool is_in_force() const { return in_force_; }
  uint64_t term() const { return term_; }        // the one followed; 0: none
  uint64_t version() const { return version_; }  // of the last grant; 0: none
  // Time since the last message of that term, or since the start.
  double silence_s(double now_s) const { return now_s - heard_s_; }

  // nullptr: no grant for the job is in force.
  const JobGrant* job(uint64_t id) const;
  // The pool in the last grant, even after that grant has ended. nullptr: the
  // last grant does not name the pool, or there was none.
  const PoolGrant* pool(const std::string& name) const;

 private:
  double timeout_s_;
  double heard_s_;
  bool in_force_ = false;
  uint64_t term_;
  uint64_t version_ = 0;
  std::map<uint64_t, JobGrant> jobs_;
  std::map<std::string, PoolGrant> pools_;
};

}  // namespace penstock
