// Finds the samples of a tar shard in WebDataset's format. Pure, except for the
// source's reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.h"
#include "loader/data/tar.h"

namespace penstock {

struct TarSample {
  std::string name;     // of the picture
  uint64_t offset = 0;  // of the picture's first byte in the archive
  uint64_t bytes = 0;   // > 0
  int64_t label = -1;   // -1: none
};

// Adjacent members with the same key (the name up to the first dot after its
// last '/') are one sample. Its picture is the first member with a picture's
// ending, its label the text of KEY.cls. Skips members without a key and
// samples without a picture.
// Errors: those of TarWalker; kInvalidArgument  an empty picture, a label that
//         is not a number from 0 to 2^31 - 1, two members of one name in a
//         sample
[[nodiscard]] Result<std::vector<TarSample>> find_tar_samples(
    const TarWalker::Source& source);

}  // namespace penstock
