// What a C program's options (penstock/loader.h) mean.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/result.h"
#include "loader/job_loader.h"
#include "penstock/loader.h"
#include "penstock/loader/dataset.h"
#include "penstock/loader/sample_cache.h"

namespace penstock {

// An older program's options end earlier, a newer one's must not say more than
// is known here.
// Errors: kInvalidArgument  null, no size, a value that is not allowed, options
//         that do not go together
[[nodiscard]] Result<penstock_loader_options> known_options(
    const penstock_loader_options* given);

// Of options that are known:

// Errors: open_dataset()'s; kInvalidArgument  a path is null
[[nodiscard]] Result<std::shared_ptr<const Dataset>> data_of(
    const penstock_loader_options& options);
JobLoaderOptions job_options_of(const penstock_loader_options& given);
// REQUIRES: cache_bytes > 0.
SampleCacheOptions cache_of(const penstock_loader_options& given);
std::string peers_of(const penstock_loader_options& given);
// nullopt: the job is alone.
std::optional<JobShare> share_of(const penstock_loader_options& given);

}  // namespace penstock
