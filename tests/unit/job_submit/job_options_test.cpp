#include "select_ext/job_submit/job_options.h"

#include <vector>

#include "tests/unit/catch.h"

using namespace penstock;  // NOLINT: the unit under test
using job_submit::read_options;
using Texts = std::vector<const char*>;

namespace {

const OptionLimits kLimits;

penstock_wire_options read(const Texts& control, const Texts& batch,
                           bool is_batch) {
  const auto set = read_options(control, batch, is_batch, kLimits);
  if (!set) FAIL(set.error().message);
  return set->options();
}

std::string refused(const Texts& control, const Texts& batch) {
  const auto set = read_options(control, batch, true, kLimits);
  REQUIRE_FALSE(set);
  CHECK(set.error().code == Code::kInvalidArgument);
  return set.error().message;
}

}  // namespace

TEST_CASE("job_options: flags are read from the control environment") {
  const auto options = read({"_SLURM_SPANK_OPTION_penstock_loader=auto",
                             "_SLURM_SPANK_OPTION_penstock_loader_threads=4",
                             "_SLURM_SPANK_OPTION_penstock_loader_model=res50"},
                            {}, true);
  CHECK(options.mode == PENSTOCK_MODE_AUTO);
  CHECK(options.threads == 4);
  CHECK(std::string(options.model) == "res50");
}

TEST_CASE("job_options: variables are read from a batch job's environment") {
  const Texts variables{"PATH=/bin", "PENSTOCK_LOADER_BATCH=32"};
  CHECK(read({}, variables, true).batch == 32);
  CHECK(read({}, variables, false).batch == 0);
  CHECK(read(variables, {}, false).batch == 32);
  CHECK(read(variables, {}, true).batch == 0);
}

TEST_CASE("job_options: a flag takes precedence over its variable") {
  CHECK(read({"_SLURM_SPANK_OPTION_penstock_loader_batch=8"},
             {"PENSTOCK_LOADER_BATCH=32"}, true)
            .batch == 8);
}

TEST_CASE("job_options: other and malformed entries are ignored") {
  const auto options = read(
      {nullptr, "", "=", "_SLURM_SPANK_OPTION_penstock_", "no equals",
       "_SLURM_SPANK_OPTION_other_loader=x", "PENSTOCK_LOADER_BATCH=0",
       "_SLURM_SPANK_OPTION_penstock_loader_threads",
       "_SLURM_SPANK_OPTION_penstock_loader_thread=x",
       "_SLURM_SPANK_OPTION_penstock_loader-threads=x"},
      {nullptr, "PENSTOCK_LOADER_BATCHES=0", "PENSTOCK_LOADER_BATCH"}, true);
  CHECK_FALSE(asks_for_management(options));
}

TEST_CASE("job_options: an invalid value is refused with the allowed values") {
  CHECK(refused({"_SLURM_SPANK_OPTION_penstock_loader_threads=abc"}, {}) ==
        "--loader-threads=abc: not valid; allowed: 1 to 4096, or auto");
  CHECK(refused({}, {"PENSTOCK_LOADER_WEIGHT=2"}) ==
        "PENSTOCK_LOADER_WEIGHT=2: not valid; allowed: 0.001 to the MaxWeight "
        "that the admin set (1)");
}
