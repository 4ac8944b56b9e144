#include "cgroup/attach_lock.h"

#include "tests/unit/catch.h"

using namespace penstock;

TEST_CASE("from Linux 6.2 on not every move takes the lock of a memory") {
  for (const char* release :
       {"6.2.0", "6.2-rc1", "6.12.117+deb13-amd64", "7.0.0", "10.1"}) {
    CAPTURE(release);
    CHECK_FALSE(every_attach_locks(release));
  }
  for (const char* release :
       {"6.1.0-56-amd64", "5.14.0-570.12.1.el9_6.x86_64", "5.15.0-91-generic",
        "4.18.0-553.el8_10.x86_64", "2.6.32"}) {
    CAPTURE(release);
    CHECK(every_attach_locks(release));
  }
}

TEST_CASE("an unreadable release counts as old") {
  for (const char* release : {"", "6", "6.", "v6.12", "."}) {
    CAPTURE(release);
    CHECK(every_attach_locks(release));
  }
  CHECK_FALSE(kernel_release().empty());
}
