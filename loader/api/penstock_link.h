// The loader's link to Penstock, through libpenstock.
#pragma once

#include <memory>

#include "libpenstock/include/penstock.h"
#include "penstock/loader/pipeline.h"

namespace penstock {

struct CloseHandle {
  void operator()(penstock_handle* handle) const { penstock_close(handle); }
};
using PenstockHandle = std::unique_ptr<penstock_handle, CloseHandle>;

// handle may be null; it must outlive the loader. Leaves `broken` empty.
PipelineLink penstock_link(penstock_handle* handle);

}  // namespace penstock
