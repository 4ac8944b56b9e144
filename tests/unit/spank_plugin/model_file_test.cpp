#include "spank_plugin/model_file.h"

#include <sys/stat.h>

#include <string>

#include "tests/unit/catch.h"
#include "tests/unit/spank_plugin/temp_dir.h"

namespace {

penstock::Result<std::string> resolve_model(const std::string& model,
                                            const std::string& directory,
                                            const std::string& profile_dir) {
  return penstock::spank::resolve_model(model, directory, profile_dir,
                                        "--loader-model");
}

}  // namespace

TEST_CASE("model_file: a built-in name is unchanged") {
  const auto model = resolve_model("res50", "/", "/nonexistent");
  REQUIRE(model);
  CHECK(*model == "res50");
}

TEST_CASE(
    "model_file: a name of a TOML or JSON profile is found in the directory") {
  const TempDir dir;
  dir.write("one.toml", "");
  dir.write("two.json", "");
  CHECK(resolve_model("one", "/", dir.path()).value_or("") == "one");
  CHECK(resolve_model("two", "/", dir.path()).value_or("") == "two");
}

TEST_CASE("model_file: an unknown name is refused with the known names") {
  const TempDir dir;
  const auto model = resolve_model("nosuch", "/", dir.path());
  REQUIRE_FALSE(model);
  CHECK(model.error().message.find("--loader-model=nosuch") == 0);
  CHECK(model.error().message.find("res50") != std::string::npos);
  CHECK(model.error().message.find(dir.path()) != std::string::npos);
}

TEST_CASE("model_file: paths become absolute") {
  const TempDir dir;
  dir.write("p.toml", "");
  CHECK(resolve_model("./p.toml", dir.path(), "/").value_or("") ==
        dir.path("./p.toml"));
  CHECK(resolve_model(dir.path("p.toml"), "/elsewhere", "/").value_or("") ==
        dir.path("p.toml"));
}

TEST_CASE("model_file: missing and irregular files are refused") {
  const TempDir dir;
  REQUIRE(::mkfifo(dir.path("pipe").c_str(), 0600) == 0);
  const std::string model =
      GENERATE(as<std::string>{}, "./missing.toml", "./pipe", "./.");
  const auto found = resolve_model(model, dir.path(), "/");
  REQUIRE_FALSE(found);
  CHECK(found.error().message.find("--loader-model=" + model + ": ") == 0);
}

TEST_CASE("model_file: an absolute path beyond 255 bytes is refused") {
  const TempDir dir;
  const std::string directory = dir.path(std::string(240, 'd'));
  const auto found = resolve_model("./profile.toml", directory, "/");
  REQUIRE_FALSE(found);
  CHECK(found.error().message.find("255 bytes") != std::string::npos);
}
