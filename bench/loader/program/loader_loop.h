// Penstock's loader as in a training program, without a trainer.
#pragma once

#include <cstddef>
#include <string>

#include "bench/loader/program/measured.h"
#include "common/result.h"

namespace penstock {

// Draws batches of the JPEGs below folder, prepared for ImageNet training, for
// the given time.
// Errors: the loader's; kInvalidArgument  a picture is broken
[[nodiscard]] Status run_loader_loop(const std::string& folder, size_t threads,
                                     const MeasuredTime& time);

}  // namespace penstock
