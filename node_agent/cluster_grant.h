// What the cluster's controllers have granted this node, and whether that is
// still in force: grants of older terms and versions are refused, and when the
// controller falls silent its grants end. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "select_ext/ctld/messages.h"

namespace penstock {

class ClusterGrant {
 public:
  // now_s: monotonic, the same clock in all calls. term: the highest that an
  // earlier run has seen; 0: none.
  ClusterGrant(double timeout_s, double now_s, uint64_t term = 0)
      : timeout_s_(timeout_s), heard_s_(now_s), term_(term) {}

  struct Taken {
    bool is_new = false;             // plan again
    bool is_new_term = false;        // to be kept over a restart
    std::optional<Refused> refused;  // to be sent to its sender
  };
  Taken take(const NodeGrant& grant, double now_s);
  // The answer to a beat of an older term, to be sent back.
  std::optional<Refused> take(const Beat& beat, double now_s);

  // True once when the controller has been silent for the time-out: its grant
  // has ended, and the node solves alone.
  bool expire(double now_s);

  bool is_in_force() const { return in_force_; }
  uint64_t term() const { return term_; }        // the highest seen; 0: none
  uint64_t version() const { return version_; }  // of the last one; 0: none
  // Since a controller of the highest term was heard, or since the start.
  double silence_s(double now_s) const { return now_s - heard_s_; }

  // nullptr: nothing of the job in force.
  const JobGrant* job(uint64_t id) const;
  // The last that was told, also where it is no longer in force. nullptr: never
  // told.
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
