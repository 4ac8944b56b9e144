// How a loader's samples are read.
#pragma once

namespace penstock {

enum class ReadMode {
  kBuffered,
  kDirect,  // O_DIRECT, past the page cache
};

// Where one sample is to come from.
enum class SampleSource {
  kUsual,    // as the loader reads when nobody measures it
  kMemory,   // the page cache, also by a loader that reads past it
  kStorage,  // whatever is cached of it
};

}  // namespace penstock
