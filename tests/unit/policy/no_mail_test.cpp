// Accounts and what users write is looked at in tests/cluster/test_policy.py,
// with homes of users that the test makes.
#include "tools/policy/no_mail.h"

#include "tests/unit/catch.h"

using namespace penstock;

TEST_CASE("a user without an account gets no mail") {
  const auto answer = policy::account_of(64131);
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == Code::kNotFound);
  CHECK(answer.error().message == "user 64131 is not known here");
}

TEST_CASE("an account has what a mail needs") {
  const auto root = policy::account_of(0);
  REQUIRE(root.ok());
  CHECK(root->name == "root");
  CHECK(root->home == "/root");
}
