#include "link/trust.h"

#include <fmt/format.h>

#include "common/account.h"

namespace penstock {
namespace {

Trust trust_in(const char* key, const std::string& account) {
  return {fmt::format("{}={}", key, account), find_uid(account)};
}

}  // namespace

std::vector<uid_t> Trust::users() const {
  std::vector<uid_t> users = {0};
  if (expected() != 0) users.push_back(*uid);
  return users;
}

std::string Trust::to_string() const {
  return setting + (uid ? fmt::format(" (user {} here)", *uid)
                        : " (no such account here)");
}

std::string Trust::lack() const {
  if (uid) return "";
  return setting + ": there is no such account here: only root is trusted";
}

Error Trust::refusal(const std::string& message, uid_t user) const {
  return Error{
      Code::kPermissionDenied, 0,
      fmt::format("{} of user {}: only those of root and of {} are believed; "
                  "give the account one number on all hosts, or set its number "
                  "instead of its name",
                  message, user, to_string())};
}

Trust trust_in_controllers(const Config& config) {
  return trust_in("ControllerUser", config.controller_user);
}

Trust trust_in_agents(const Config& config) {
  return trust_in("AgentUser", config.agent_user);
}

}  // namespace penstock
