#include "link/trust.h"

#include <unistd.h>

#include "common/account.h"
#include "tests/unit/catch.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;

namespace {

Config config_of(const std::string& controller, const std::string& agent) {
  Config config;
  config.controller_user = controller;
  config.agent_user = agent;
  return config;
}

constexpr const char* kNobody = "no-such-account-of-penstock";

}  // namespace

TEST_CASE("an account is found by name, and a number is its own account") {
  CHECK(find_uid("root") == 0);
  CHECK(find_uid("0") == 0);
  CHECK(find_uid("64031") == 64031);
  CHECK_FALSE(find_uid(kNobody));
  CHECK_FALSE(find_uid("4294967295"));  // uid_t(-1), nobody's
}

TEST_CASE("each role is root's and its own account's") {
  const Config config = config_of("64031", "64032");
  const Trust controllers = trust_in_controllers(config);
  const Trust agents = trust_in_agents(config);
  CHECK(controllers.admits(0));
  CHECK(controllers.admits(64031));
  CHECK_FALSE(controllers.admits(64032));
  CHECK(agents.admits(0));
  CHECK(agents.admits(64032));
  CHECK_FALSE(agents.admits(64031));
  CHECK(controllers.expected() == 64031);
  CHECK(controllers.users() == std::vector<uid_t>{0, 64031});
  CHECK(controllers.lack().empty());
}

TEST_CASE("without the account only root is trusted, and a line says so") {
  const Trust trust = trust_in_agents(config_of("root", kNobody));
  CHECK(trust.admits(0));
  CHECK_FALSE(trust.admits(uid_t(-1)));
  CHECK_FALSE(trust.admits(64031));
  CHECK(trust.expected() == 0);
  CHECK(trust.users() == std::vector<uid_t>{0});
  CHECK(trust.lack() ==
        "AgentUser=no-such-account-of-penstock: there is no such account here: "
        "only root is trusted");
}

TEST_CASE("root may be named, and is counted once") {
  const Trust trust = trust_in_controllers(config_of("root", "root"));
  CHECK(trust.users() == std::vector<uid_t>{0});
  CHECK(trust.lack().empty());
}

TEST_CASE("a refusal names both users, the setting and the remedy") {
  const Trust known = trust_in_controllers(config_of("64031", "root"));
  CHECK(known.refusal("a message", 4242).code == Code::kPermissionDenied);
  CHECK(
      known.refusal("a message", 4242).message ==
      "a message of user 4242: only those of root and of ControllerUser=64031 "
      "(user 64031 here) are believed; give the account one number on all "
      "hosts, or set its number instead of its name");
  const Trust unknown = trust_in_controllers(config_of(kNobody, "root"));
  CHECK_THAT(unknown.refusal("an answer", 4242).message,
             ContainsSubstring("an answer of user 4242") &&
                 ContainsSubstring("(no such account here)"));
}
