// When a slow storage system would answer. Pure: time is an argument.
#pragma once

#include <cstdint>

namespace penstock {

// A file system behind one pipe: each request takes the latency, beside any
// others, and then its data pass through the pipe one request after the other.
// What the pipe does not carry while nobody reads is lost, so that no stretch
// of time carries more than the bandwidth allows.
class AnswerTimes {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 34;  // of a request

  // REQUIRES: bandwidth_bytes_per_s > 0.
  AnswerTimes(uint64_t latency_ns, uint64_t bandwidth_bytes_per_s)
      : latency_ns_(latency_ns),
        bandwidth_bytes_per_s_(bandwidth_bytes_per_s) {}

  // The time at which a request is answered that came at came_ns and carries
  // so many bytes of data. Requests without data do not wait for the pipe.
  // REQUIRES: bytes <= kMaxBytes.
  uint64_t due_ns(uint64_t came_ns, uint64_t bytes);

 private:
  uint64_t latency_ns_;
  uint64_t bandwidth_bytes_per_s_;
  uint64_t free_ns_ = 0;    // when the pipe has carried all before
  uint64_t remainder_ = 0;  // of the division that free_ns_ came from
};

}  // namespace penstock
