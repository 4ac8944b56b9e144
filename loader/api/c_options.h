// Converts a C program's options (penstock/loader.h).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/result.h"
#include "loader/api/job_loader.h"
#include "penstock/loader.h"
#include "penstock/loader/dataset.h"
#include "penstock/loader/sample_cache.h"

namespace penstock {

// Checks and copies the options. A shorter struct (an older program) gets 0 for
// the missing fields; in a longer one the further bytes must be 0.
// Errors: kInvalidArgument  null, no size, a value that is not allowed, options
//         that exclude each other
[[nodiscard]] Result<penstock_loader_options> known_options(
    const penstock_loader_options* given);

// The functions below take the result of known_options().

// Errors: open_dataset()'s; kInvalidArgument  a path is null
[[nodiscard]] Result<std::shared_ptr<const Dataset>> data_of(
    const penstock_loader_options& options);
JobLoaderOptions job_options_of(const penstock_loader_options& given);
// REQUIRES: cache_bytes > 0.
SampleCacheOptions cache_of(const penstock_loader_options& given);
std::string peers_of(const penstock_loader_options& given);
// nullopt: no share.
std::optional<JobShare> share_of(const penstock_loader_options& given);

}  // namespace penstock
