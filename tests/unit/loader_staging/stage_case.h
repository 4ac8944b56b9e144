// Shares in a temporary folder, removed by the destructor.
#pragma once

#include <unistd.h>

#include <memory>
#include <string>

#include "loader/staging/stage_file.h"
#include "tests/unit/loader_cache/cache_case.h"

namespace penstock::test {

class StageCase {
 public:
  Result<std::unique_ptr<StageFile>> try_join(const StagedData& data,
                                              const std::string& name = "n") {
    return StageFile::join(owner(), name, data);
  }
  std::unique_ptr<StageFile> join(const StageShape& shape,
                                  const std::string& name = "n") {
    auto file = try_join({7, "seven", shape}, name);
    if (!file) FAIL(file.error().message);
    return *std::move(file);
  }
  CacheOwner owner() const {
    return {.base = folder_.base(), .user = ::geteuid(), .group = {}};
  }
  std::string path(const std::string& name = "n") const {
    return cache_folder_path(owner()) + "/" + name + ".stage";
  }
  const std::string& base() const { return folder_.base(); }

 private:
  CacheCase folder_;
};

}  // namespace penstock::test
