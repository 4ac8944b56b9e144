#pragma once

#include <cstdint>

namespace penstock {

using JobId = uint32_t;  // Slurm's

}  // namespace penstock
