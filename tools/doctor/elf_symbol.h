// Reads a number exported by a shared object without running its code. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/result.h"

namespace penstock::doctor {

// The 32-bit value of an exported object, such as a Slurm plugin's
// plugin_version.
//   image  the whole file
// Errors: kInvalidArgument  not a 64-bit ELF file in this machine's byte order,
//                          or an inconsistent one
//         kNotFound         it exports no such number
[[nodiscard]] Result<uint32_t> exported_number(std::string_view image,
                                               std::string_view symbol);

}  // namespace penstock::doctor
