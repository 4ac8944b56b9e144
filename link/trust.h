// Which users' credentials count as a controller's or as an agent's.
//
// Root's always count: root on any machine with the munge key can seal a
// credential as any user. So the users of a role must have equal ids on all
// hosts, as for munge and Slurm.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/result.h"

namespace penstock {

// By default in root alone.
struct Trust {
  std::string setting;       // "ControllerUser=penstock"
  std::optional<uid_t> uid;  // its account's here; nullopt: there is none

  bool admits(uid_t user) const { return user == 0 || user == uid; }
  std::vector<uid_t> users() const;
  // The user who probably opens messages to the role.
  uid_t expected() const { return uid.value_or(0); }

  // "ControllerUser=penstock (user 998 here)".
  std::string to_string() const;
  // A line for log and doctor; "": the account exists.
  std::string lack() const;
  // The error for a message of a user whom admits() refuses.
  Error refusal(const std::string& message, uid_t user) const;
};

// Both look the account up once and may wait for a directory service.
Trust trust_in_controllers(const Config& config);
Trust trust_in_agents(const Config& config);

}  // namespace penstock
