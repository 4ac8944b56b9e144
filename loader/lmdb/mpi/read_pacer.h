// Holds what a rank reads to the rate that Penstock grants.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "common/result.h"
#include "loader/token_bucket.h"
#include "penstock/loader/pipeline.h"

namespace penstock::lmdb {

// Thread-safe.
class ReadPacer {
 public:
  // A hint's rate is one rank's part of its node's; who reads for others has
  // theirs too: `parts` of it.
  ReadPacer(PipelineLink link, double parts)
      : link_(std::move(link)), parts_(parts) {}

  // Returns once so much may be read; what is more than a moment's worth makes
  // the next wait. A new rate is followed within 100 ms. Called again and again
  // while it waits: look; an error of its ends the wait.
  [[nodiscard]] Status wait(uint64_t bytes,
                            const std::function<Status()>& look);

  // Called in each reading thread when it starts (true) and ends (false).
  void thread(bool starts) const {
    if (link_.thread) link_.thread(starts);
  }

 private:
  void follow_hint(uint64_t now_ns);

  PipelineLink link_;
  double parts_;
  TokenBucket bucket_;
  std::atomic<uint64_t> follow_ns_{0};  // when it is to be asked again
};

}  // namespace penstock::lmdb
