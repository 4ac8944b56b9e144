// The check of the kernel's release.
#include "shared.h"

namespace penstock::doctor {
namespace {

TEST_CASE("a kernel before 6.2 is a warning with a remedy") {
  const Findings old = check_kernel("5.14.0-570.el9.x86_64", false);
  REQUIRE(old.size() == 1);
  CHECK(old[0].check == "kernel");
  CHECK(old[0].verdict == Verdict::kWarn);
  CHECK(has(old[0].found, "Linux 5.14.0-570.el9.x86_64 is older than 6.2"));
  CHECK(has(old[0].remedy, "MoveProcesses=always"));
  const Findings trusting = check_kernel("5.14.0-570.el9.x86_64", true);
  REQUIRE(trusting.size() == 1);
  CHECK(trusting[0].verdict == Verdict::kOk);
}

TEST_CASE("a later kernel is ok") {
  CHECK(check_kernel("6.12.117+deb13-amd64", false) ==
        Findings{ok("kernel", "Linux 6.12.117+deb13-amd64")});
}

}  // namespace
}  // namespace penstock::doctor
