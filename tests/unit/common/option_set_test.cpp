#include "common/option_set.h"

#include <string>

#include "tests/unit/catch.h"

using penstock::kOptionModel;
using penstock::option_spec;
using penstock::OptionLimits;
using penstock::OptionSet;

namespace {

int index_of(const std::string& name) {
  for (int i = 0; i < penstock::kOptionCount; ++i)
    if (option_spec(i).name == name) return i;
  FAIL("no option " << name);
  return -1;
}

const OptionLimits kLimits;

std::string kept(int index, const OptionSet& set) {
  return penstock::value_for_job(index, set.options());
}

}  // namespace

TEST_CASE(
    "option_set: a flag takes precedence over its variable in either order") {
  const int threads = index_of("loader-threads");
  OptionSet flag_first;
  REQUIRE(flag_first.apply_flag(threads, "3", kLimits));
  REQUIRE(flag_first.apply_variable(threads, "5", kLimits));
  CHECK(flag_first.options().threads == 3);

  OptionSet variable_first;
  REQUIRE(variable_first.apply_variable(threads, "5", kLimits));
  CHECK(variable_first.options().threads == 5);
  REQUIRE(variable_first.apply_flag(threads, "3", kLimits));
  CHECK(variable_first.options().threads == 3);
}

TEST_CASE("option_set: a share's name is kept for the job") {
  const int share = penstock::kOptionShare;
  OptionSet set;
  CHECK(kept(share, set) == std::string());
  REQUIRE(set.apply_variable(share, "from-variable", kLimits));
  CHECK(kept(share, set) == std::string("from-variable"));
  REQUIRE(set.apply_flag(share, "search.1", kLimits));
  REQUIRE(set.apply_variable(share, "other", kLimits));
  CHECK_FALSE(set.apply_flag(share, "a/b", kLimits));
  CHECK(kept(share, set) == std::string("search.1"));
  CHECK(penstock::asks_for_management(set.options()));
}

TEST_CASE("option_set: the choice of elastic workers is kept for the job") {
  const int elastic = penstock::kOptionElastic;
  OptionSet set;
  REQUIRE(set.apply_variable(elastic, "seeded", kLimits));
  CHECK(kept(elastic, set) == std::string("seeded"));
  REQUIRE(set.apply_flag(elastic, "off", kLimits));
  CHECK_FALSE(set.apply_flag(elastic, "exactly", kLimits));
  CHECK(kept(elastic, set) == std::string("off"));
  CHECK(kept(penstock::kOptionWatch, set) == std::string());
  CHECK(penstock::asks_for_management(set.options()));
}

TEST_CASE("option_set: the last flag applies") {
  const int threads = index_of("loader-threads");
  OptionSet set;
  REQUIRE(set.apply_flag(threads, "3", kLimits));
  REQUIRE(set.apply_flag(threads, "auto", kLimits));
  CHECK(set.options().threads == 0);
  CHECK(set.options().threads_auto == 1);
}

TEST_CASE("option_set: an empty variable counts as unset") {
  OptionSet set;
  REQUIRE(set.apply_variable(index_of("loader-bw"), "", kLimits));
  CHECK_FALSE(penstock::asks_for_management(set.options()));
}

TEST_CASE(
    "option_set: an error of a variable names the variable, not its flag") {
  OptionSet set;
  const auto status =
      set.apply_variable(index_of("loader-batch"), "x", kLimits);
  REQUIRE_FALSE(status);
  CHECK(status.error().message.rfind("PENSTOCK_LOADER_BATCH=x: ", 0) == 0);
  CHECK(status.error().message.find("allowed: ") != std::string::npos);
  CHECK_FALSE(penstock::asks_for_management(set.options()));
}

TEST_CASE("option_set: an invalid flag does not override its variable") {
  const int batch = index_of("loader-batch");
  OptionSet set;
  REQUIRE_FALSE(set.apply_flag(batch, "0", kLimits));
  CHECK_FALSE(set.has_flag(batch));
  REQUIRE(set.apply_variable(batch, "32", kLimits));
  CHECK(set.options().batch == 32);
}

TEST_CASE("option_set: an invalid variable is ignored after a valid flag") {
  const int batch = index_of("loader-batch");
  OptionSet set;
  REQUIRE(set.apply_flag(batch, "8", kLimits));
  CHECK(set.apply_variable(batch, "x", kLimits));
  CHECK(set.options().batch == 8);
}

TEST_CASE("option_set: set_model clears the rest of a longer model") {
  OptionSet set;
  REQUIRE(set.apply_flag(kOptionModel, "./a/very/long/path.toml", kLimits));
  set.set_model("/p.toml");
  CHECK(std::string(set.options().model) == "/p.toml");
  CHECK(penstock::check_options(set.options(), kLimits));
}

TEST_CASE("option_set: only a path without a leading '/' is relative") {
  OptionSet set;
  CHECK_FALSE(set.has_relative_model());
  REQUIRE(set.apply_flag(kOptionModel, "res50", kLimits));
  CHECK_FALSE(set.has_relative_model());
  REQUIRE(set.apply_flag(kOptionModel, "dir/p.toml", kLimits));
  CHECK(set.has_relative_model());
  set.set_model("/dir/p.toml");
  CHECK_FALSE(set.has_relative_model());
  set.set_model("");
  CHECK(std::string(set.options().model).empty());
}
