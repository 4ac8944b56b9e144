// Reads a number that a shared object exports, without running its code. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/result.h"

namespace penstock::doctor {

// The 32-bit value of an exported object, such as a Slurm plugin's
// plugin_version.
//   image  the whole file
// Errors: kInvalidArgument  no ELF file of 64 bits in this machine's byte
//                           order, or one that contradicts itself
//         kNotFound         it exports no such number
[[nodiscard]] Result<uint32_t> exported_number(std::string_view image,
                                               std::string_view symbol);

}  // namespace penstock::doctor
