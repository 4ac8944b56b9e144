// A dataset: the picture files below a folder.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"

namespace penstock {

enum class SampleFormat {
  kJpeg,  // .jpg, .jpeg
  kRaw,   // .ppm: binary PPM (P6), one byte per channel
};

struct Dataset {
  std::string folder;
  SampleFormat format = SampleFormat::kJpeg;
  std::vector<std::string> paths;  // complete, in byte order; never empty
};

// Finds the files below folder (symbolic links to folders are not followed)
// whose names end in one of the format's endings, in any case.
// Errors: kNotFound  no such folder, or no such file in it
//         kIo        a folder in it cannot be read
[[nodiscard]] Result<Dataset> open_dataset(const std::string& folder,
                                           SampleFormat format);

const char* sample_format_name(SampleFormat format);

}  // namespace penstock
