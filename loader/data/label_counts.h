// Counts a dataset's labels for its facts.
#pragma once

#include <unordered_set>

#include "penstock/loader/dataset.h"

namespace penstock {

// label: of a sample by index, or kNoLabel.
template <class Label>
void count_labels(uint64_t samples, const Label& label, DatasetFacts& facts) {
  facts.samples = samples;
  facts.labelled = 0;
  std::unordered_set<int64_t> seen;
  for (uint64_t i = 0; i < samples; ++i) {
    const int64_t it = label(i);
    if (it == kNoLabel) continue;
    ++facts.labelled;
    seen.insert(it);
  }
  facts.classes = seen.size();
}

}  // namespace penstock
