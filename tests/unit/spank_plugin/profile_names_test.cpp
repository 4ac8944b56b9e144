// The plugin checks a profile's name against a list of its own, because it
// links no predictor: the two lists must be the same.
#include "common/profile_names.h"

#include <iterator>
#include <string>
#include <vector>

#include "predictor/profile.h"
#include "tests/unit/catch.h"

TEST_CASE("profile_names: the list equals the predictor's built-in profiles") {
  const std::vector<std::string> names(std::begin(penstock::kProfileNames),
                                       std::end(penstock::kProfileNames));
  CHECK(names == penstock::builtin_profile_names());
}
