// Answer times of a slow storage system. Pure: time is an argument.
#pragma once

#include <cstdint>

namespace penstock {

// A file system behind one pipe. The latencies of requests overlap; after its
// latency a request's data pass through the pipe, one request at a time. Idle
// capacity of the pipe is lost, so no period carries more than the bandwidth.
class AnswerTimes {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 34;  // of a request

  // REQUIRES: bandwidth_bytes_per_s > 0.
  AnswerTimes(uint64_t latency_ns, uint64_t bandwidth_bytes_per_s)
      : latency_ns_(latency_ns),
        bandwidth_bytes_per_s_(bandwidth_bytes_per_s) {}

  // Time of the answer to a request that came at came_ns and carries `bytes` of
  // data. Requests without data do not wait for the pipe.
  // REQUIRES: bytes <= kMaxBytes.
  uint64_t due_ns(uint64_t came_ns, uint64_t bytes);

 private:
  uint64_t latency_ns_;
  uint64_t bandwidth_bytes_per_s_;
  uint64_t free_ns_ = 0;    // time at which the pipe becomes free
  uint64_t remainder_ = 0;  // of the division behind free_ns_
};

}  // namespace penstock
