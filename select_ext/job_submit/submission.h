// The datagram of a submission to penstockctld: AF_UNIX, SOCK_DGRAM, one struct
// per packet, host byte order. Sent once for each accepted job and for each
// update of a job's GRES; lost if nobody reads it in time. Pure. The C++
// standard library only: the plugin compiles it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/protocol.h"
#include "common/result.h"

namespace penstock::job_submit {

inline constexpr uint32_t kSubmissionMagic = 0x42534e50;  // "PNSB"
inline constexpr uint32_t kSubmissionVersion = 1;

enum SubmissionKind : uint32_t {
  kSubmitted = 1,  // the job has no id yet
  kModified = 2,   // the GRES of job_id are updated
};

// Run times of the hooks and losses of their datagrams since Slurm loaded the
// plugin. Bucket i counts hooks that took at most bucket_limit_ns(i) and more
// than the limit before.
inline constexpr size_t kBuckets = 128;
struct HookStatistics {
  uint64_t hooks;     // hooks that ended
  uint64_t not_sent;  // datagrams without a reader or room
  uint32_t buckets[kBuckets];
};

struct Submission {
  uint32_t magic;
  uint32_t version;
  uint32_t size_bytes;  // sizeof(Submission)
  uint32_t kind;
  uint64_t load_ns;  // CLOCK_REALTIME when Slurm loaded the plugin
  uint64_t number;   // of this datagram since then, from 1; gaps are losses
  uint64_t sent_ns;  // CLOCK_REALTIME
  uint32_t job_id;   // 0 for kSubmitted
  uint32_t uid;      // the job's user and group
  uint32_t gid;
  uint32_t managed;         // 1: asked for management, or Default=auto
  uint32_t nodes;           // minimum; at least 1
  uint32_t tasks_per_node;  // at least 1
  uint32_t gpus_per_node;
  uint32_t cpus_per_task;    // 0: not given
  uint32_t time_limit_min;   // 0: not given
  uint32_t loader_cpu;       // added to the job, cores per node
  uint64_t loader_bw_mib_s;  // added to the job, per node
  char job_name[64];         // printable ASCII, NUL-padded, may be truncated
  char partition[64];        // as given by the user
  char account[64];          // as given by the user
  char gpu_type[32];         // as given by the user
  penstock_wire_options options;
  HookStatistics statistics;  // without the hook that sends this
};

// Checks a packet and copies it.
// Errors: kInvalidArgument  names the invalid field
// Thread-safe.
[[nodiscard]] Result<Submission> decode_submission(
    std::span<const std::byte> packet);

// Bucket limits grow by an eighth of an octave from 1 us to 56 ms; the last
// bucket counts all longer hooks.
// REQUIRES: bucket < kBuckets.
uint64_t bucket_limit_ns(size_t bucket);
size_t bucket_of(uint64_t duration_ns);

// The smallest bucket limit that `share` of the hooks between the two
// statistics did not exceed. Both must be of one load of the plugin. 0 without
// hooks.
// REQUIRES: 0 < share <= 1.
uint64_t hook_quantile_ns(const HookStatistics& before,
                          const HookStatistics& after, double share);

}  // namespace penstock::job_submit
