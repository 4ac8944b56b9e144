// The datagram that tells penstockctld about a submission: AF_UNIX,
// SOCK_DGRAM, one struct per packet, host byte order. Sent once for each job
// that is accepted and for each update of a job's GRES; lost where nobody
// reads in time. Pure. The C++ standard library only: the plugin compiles it.
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
  kSubmitted = 1,  // its job has no number yet
  kModified = 2,   // job_id's GRES are updated
};

// How long the hooks took, and what became of their datagrams, since Slurm
// loaded the plugin. Bucket i counts hooks of at most bucket_limit_ns(i).
inline constexpr size_t kBuckets = 128;
struct HookStatistics {
  uint64_t hooks;     // that ended
  uint64_t not_sent;  // datagrams that had no reader or no room
  uint32_t buckets[kBuckets];
};

struct Submission {
  uint32_t magic;
  uint32_t version;
  uint32_t size_bytes;  // sizeof(Submission)
  uint32_t kind;
  uint64_t load_ns;  // CLOCK_REALTIME when Slurm loaded the plugin
  uint64_t number;   // of this datagram since then, from 1; gaps were lost
  uint64_t sent_ns;  // CLOCK_REALTIME
  uint32_t job_id;   // 0 for kSubmitted
  uint32_t uid;      // the job's user, and group
  uint32_t gid;
  uint32_t managed;         // 1: asked for management, or Default=auto
  uint32_t nodes;           // the least; at least 1
  uint32_t tasks_per_node;  // at least 1
  uint32_t gpus_per_node;
  uint32_t cpus_per_task;    // 0: not given
  uint32_t time_limit_min;   // 0: not given
  uint32_t loader_cpu;       // added to the job, cores per node
  uint64_t loader_bw_mib_s;  // added to the job, per node
  char job_name[64];         // printable ASCII, NUL-padded, may be cut
  char partition[64];        // as the user gave it
  char account[64];          // the same
  char gpu_type[32];         // the same
  penstock_wire_options options;
  HookStatistics statistics;  // without the hook that sends this
};

// Checks a packet and copies it out.
// Errors: kInvalidArgument  names what is wrong
// Thread-safe.
[[nodiscard]] Result<Submission> decode_submission(
    std::span<const std::byte> packet);

// Buckets grow by an eighth of an octave from 1 us to 56 ms; the last one takes
// all that is longer.
// REQUIRES: bucket < kBuckets.
uint64_t bucket_limit_ns(size_t bucket);
size_t bucket_of(uint64_t duration_ns);

// The smallest limit that the given share of hooks kept between two
// statistics of one load; 0 where there was none.
// REQUIRES: 0 < share <= 1.
uint64_t hook_quantile_ns(const HookStatistics& before,
                          const HookStatistics& after, double share);

}  // namespace penstock::job_submit
