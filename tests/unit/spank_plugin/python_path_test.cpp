// Tests spank_plugin/python_path.h.
#include "spank_plugin/python_path.h"

#include "tests/unit/catch.h"

using penstock::spank::led_by;

TEST_CASE("the folder comes in front of the user's path") {
  CHECK(led_by("/hook", "") == "/hook");
  CHECK(led_by("/hook", "/a") == "/hook:/a");
  CHECK(led_by("/hook", "/a::/b:") == "/hook:/a::/b:");
  CHECK(led_by("/hook", "/hook2:/a/hook") == "/hook:/hook2:/a/hook");
}

TEST_CASE("a path that has the folder stays as it is") {
  for (const char* path : {"/hook", "/hook:/a", "/a:/hook", "/a::/hook:/b"}) {
    CAPTURE(path);
    CHECK(led_by("/hook", path) == path);
  }
}
