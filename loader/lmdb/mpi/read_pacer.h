// Limits a rank's reads to the rate that Penstock grants.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "common/result.h"
#include "loader/pipeline/token_bucket.h"
#include "penstock/loader/pipeline.h"

namespace penstock::lmdb {

// Thread-safe.
class ReadPacer {
 public:
  // parts: number of ranks that this rank reads for. A hint's rate is one
  // rank's, so it is multiplied by parts.
  ReadPacer(PipelineLink link, double parts)
      : link_(std::move(link)), parts_(parts) {}

  // Blocks until `bytes` may be read. A request above the burst makes later
  // ones wait. A new rate is followed within 100 ms. Calls look during the
  // wait; its error ends the wait.
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
  std::atomic<uint64_t> follow_ns_{0};  // time of the next query of the hint
};

}  // namespace penstock::lmdb
