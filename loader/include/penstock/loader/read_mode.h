// How a loader reads samples.
#pragma once

namespace penstock {

enum class ReadMode {
  kBuffered,
  kDirect,  // O_DIRECT, bypassing the page cache
};

// Source of one sample. All but kUsual are for measurements.
enum class SampleSource {
  kUsual,    // caches first, then storage by the ReadMode
  kMemory,   // through the page cache, even with ReadMode::kDirect
  kStorage,  // from storage, even if cached
};

}  // namespace penstock
