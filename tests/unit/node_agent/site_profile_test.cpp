#include "node_agent/site_profile.h"

#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>

#include "common/clock.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"
#include "tests/unit/node_agent/hung_directory.h"

namespace penstock {
namespace {

class SiteProfiles {
 public:
  SiteProfiles() : loop_(*EventLoop::create()), children_(loop_) {
    ::signal(SIGCHLD, SIG_IGN);
  }

  // Starts to read it.
  void ask(const std::string& place, const std::string& name) {
    found_.reset();
    read_site_profile(
        children_, place, name, ::getuid(),
        [this](Result<SiteProfile> found) { found_ = std::move(found); });
  }
  Result<SiteProfile> read(const std::string& name) {
    ask(directory.path(), name);
    return *answer();
  }
  // nullopt: none within the time.
  std::optional<Result<SiteProfile>> answer(uint64_t most_ms = 20'000) {
    children_.serve([this] { return found_.has_value(); }, most_ms);
    return found_;
  }
  void pass_deadline() {
    children_.expire(monotonic_ns() + 2 * kSiteProfileDeadline_ms * 1'000'000);
  }
  std::string write(const std::string& name, const std::string& text,
                    mode_t mode = 0644) const {
    const std::string path = directory.path() / name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }

 private:
  EventLoop loop_;
  BoundedChildren children_;
  std::optional<Result<SiteProfile>> found_;

 public:
  TempDir directory;
};

TEST_CASE("a site's profile is its .toml file, else its .json file") {
  SiteProfiles site;
  const std::string json = site.write("both.json", "{}");
  REQUIRE(site.read("both"));
  CHECK(site.read("both")->path == json);
  CHECK(site.read("both")->text == "{}");
  const std::string toml = site.write("both.toml", "a = 1\nb = 2\n");
  CHECK(site.read("both")->path == toml);
  CHECK(site.read("both")->text == "a = 1\nb = 2\n");
}

TEST_CASE("a site without a profile of the name has none") {
  SiteProfiles site;
  REQUIRE(site.read("none"));
  CHECK(site.read("none")->path.empty());
}

TEST_CASE("an unusable profile is an error, and not another profile") {
  SiteProfiles site;
  site.write("open.json", "{}");
  site.write("open.toml", "", 0666);
  REQUIRE_FALSE(site.read("open"));
  CHECK_THAT(site.read("open").error().message,
             Catch::Matchers::ContainsSubstring("open.toml: must belong to"));
  site.write("large.toml", std::string(65 * 1024, ' '));
  CHECK_THAT(site.read("large").error().message,
             Catch::Matchers::ContainsSubstring(
                 "large.toml: not a regular file of at most 64 KiB"));
}

TEST_CASE("a profile of the largest size is read whole") {
  SiteProfiles site;
  site.write("full.toml", std::string(64 * 1024, '#'));
  REQUIRE(site.read("full"));
  CHECK(site.read("full")->text.size() == 64 * 1024);
}

TEST_CASE("a ProfileDir that does not answer delays nobody") {
  const test::HungDirectory hung;
  if (!hung.is_there()) {
    WARN("skipped: needs root and /dev/fuse");
    return;
  }
  SiteProfiles site;
  site.ask(hung.path(), "model");
  CHECK_FALSE(site.answer(100));
  site.pass_deadline();
  REQUIRE(site.answer());
  CHECK(site.answer()->error().code == Code::kUnavailable);
  // Another one would hang, too.
  site.ask(hung.path(), "model");
  REQUIRE(site.answer(0));
  CHECK(site.answer(0)->error().code == Code::kUnavailable);
}

}  // namespace
}  // namespace penstock
