#include "spank_plugin/settings.h"

#include <string>

#include "tests/unit/catch.h"

using penstock::spank::apply_argument;
using penstock::spank::Settings;

TEST_CASE("settings: each argument is stored") {
  Settings settings;
  REQUIRE(apply_argument("socket=/tmp/x.sock", settings));
  REQUIRE(apply_argument("profile_dir=/tmp/profiles", settings));
  REQUIRE(apply_argument("hook_dir=/opt/hook", settings));
  REQUIRE(apply_argument("elastic=exact", settings));
  REQUIRE(apply_argument("max_weight=2.5", settings));
  REQUIRE(apply_argument("timeout_ms=0", settings));
  CHECK(std::string(settings.socket_path) == "/tmp/x.sock");
  CHECK(std::string(settings.profile_dir) == "/tmp/profiles");
  CHECK(std::string(settings.hook_dir) == "/opt/hook");
  CHECK(std::string(settings.elastic) == "exact");
  CHECK(settings.limits.max_weight == 2.5);
  CHECK(settings.timeout_ms == 0);
}

TEST_CASE("settings: a shorter path replaces a longer one completely") {
  Settings settings;
  REQUIRE(apply_argument("socket=/tmp/longer.sock", settings));
  REQUIRE(apply_argument("socket=/tmp/s", settings));
  CHECK(std::string(settings.socket_path) == "/tmp/s");
}

TEST_CASE("settings: an invalid argument is refused and changes nothing") {
  const std::string argument = GENERATE(
      as<std::string>{}, "", "socket", "socket=", "socket=relative",
      "socket=/" + std::string(107, 'x'),
      "profile_dir=", "profile_dir=/" + std::string(255, 'x'),
      "hook_dir=", "hook_dir=/a:/b", "elastic=", "elastic=seeded",
      "max_weight=0", "max_weight=-1", "max_weight=1001", "max_weight=nan",
      "max_weight=2x", "timeout_ms=-1", "timeout_ms=10001", "timeout_ms=1.5",
      "timeout_ms=", "Socket=/tmp/x", "unknown=1",
      std::string("socket=/a\0b", 11));
  Settings settings;
  const auto status = apply_argument(argument, settings);
  REQUIRE_FALSE(status);
  CHECK(status.error().message.find("allowed: ") != std::string::npos);
  const Settings fresh;
  CHECK(std::string(settings.socket_path) == fresh.socket_path);
  CHECK(std::string(settings.profile_dir) == fresh.profile_dir);
  CHECK(std::string(settings.hook_dir) == fresh.hook_dir);
  CHECK(settings.limits.max_weight == fresh.limits.max_weight);
  CHECK(settings.timeout_ms == fresh.timeout_ms);
}

TEST_CASE("settings: the longest paths fit, with their NUL") {
  Settings settings;
  const std::string path = "/" + std::string(106, 'x');
  REQUIRE(apply_argument("socket=" + path, settings));
  CHECK(std::string(settings.socket_path) == path);
}
