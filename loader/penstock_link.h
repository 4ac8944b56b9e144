// The loader's link to Penstock, through libpenstock.
#pragma once

#include "libpenstock/include/penstock.h"
#include "penstock/loader/pipeline.h"

namespace penstock {

// handle may be null and must outlive the loader. `broken` is left empty.
PipelineLink penstock_link(penstock_handle* handle);

}  // namespace penstock
