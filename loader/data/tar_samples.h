// Finds the samples of a tar shard in WebDataset's format. Pure, except for the
// source's reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.h"
#include "loader/data/tar.h"
#include "penstock/loader/dataset.h"

namespace penstock {

struct TarSample {
  std::string name;     // of the picture
  uint64_t offset = 0;  // of the picture's first byte in the archive
  uint64_t bytes = 0;   // > 0
  int64_t label = -1;   // -1: none
};

struct TarSamples {
  std::vector<TarSample> samples;  // in the order of their first members
  DatasetFacts facts;              // what is left out
};

// open_tar_shards() describes samples and rules.
// Errors: those of TarWalker; kInvalidArgument  those of open_tar_shards() that
//         are of one shard, and an empty picture
[[nodiscard]] Result<TarSamples> find_tar_samples(
    const TarWalker::Source& source, const SampleRules& rules = {});

}  // namespace penstock
