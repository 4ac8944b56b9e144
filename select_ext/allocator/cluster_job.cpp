#include "select_ext/allocator/cluster_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "select_ext/allocator/curve.h"

namespace penstock::allocator {
namespace {

// Rounding may make a sum of entitled cores exceed the node's cores.
constexpr double kTolerance = 1e-9;

Error bad(const ClusterJob& job, const std::string& field, double value,
          const char* allowed) {
  return invalid(fmt::format("job {}: {} is {}, must be {}", job.id, field,
                             value, allowed));
}

bool is_positive(double value) { return std::isfinite(value) && value > 0; }

Status check_fields(const ClusterJob& job, int pools) {
  if (!is_positive(job.weight)) {
    return bad(job, "weight", job.weight, "finite and over 0");
  }
  if (!is_positive(job.ceiling)) {
    return bad(job, "ceiling", job.ceiling, "finite and over 0");
  }
  if (!std::isfinite(job.bytes_per_sample) || job.bytes_per_sample < 0) {
    return bad(job, "bytes_per_sample", job.bytes_per_sample,
               "finite and at least 0");
  }
  if (!(job.max_cores_per_rank >= 0)) {
    return bad(job, "max_cores_per_rank", job.max_cores_per_rank, "at least 0");
  }
  if (job.pool < -1 || job.pool >= pools) {
    return invalid(
        fmt::format("job {}: pool is {}, there are {} pools and -1 is none",
                    job.id, job.pool, pools));
  }
  if (job.parts.empty()) {
    return invalid(fmt::format("job {}: has no parts", job.id));
  }
  return validate_curve(job.id, job.cores_curve);
}

Status check_part(const ClusterJob& job, const ClusterPart& part, int nodes) {
  if (part.node < 0 || part.node >= nodes) {
    return invalid(fmt::format("job {}: a part's node is {}, there are {}",
                               job.id, part.node, nodes));
  }
  const auto field = [&](const char* name) {
    return fmt::format("node {}: {}", part.node, name);
  };
  if (!is_positive(part.ranks)) {
    return bad(job, field("ranks"), part.ranks, "finite and over 0");
  }
  if (!is_positive(part.core_factor)) {
    return bad(job, field("core_factor"), part.core_factor,
               "finite and over 0");
  }
  if (!std::isfinite(part.entitled_cores) || part.entitled_cores < 0) {
    return bad(job, field("entitled_cores"), part.entitled_cores,
               "finite and at least 0");
  }
  return Done{};
}

std::vector<LevelPiece> level_pieces(const ClusterJob& job, double cap) {
  std::vector<LevelPiece> pieces;
  Job::Point from;
  const auto add = [&](const Job::Point& to, double slope) {
    const double end = to.rate / job.ceiling;
    // Use the point's own cores: its rate divided and multiplied again rounds.
    pieces.push_back(
        {std::min(cap, end),
         end <= cap ? to.cores : cores_at(job.cores_curve, cap * job.ceiling),
         slope * job.ceiling});
  };
  double slope = 0;
  for (const Job::Point& to : job.cores_curve) {
    if (to.rate <= from.rate) continue;  // the optional (0,0)
    slope = (to.cores - from.cores) / (to.rate - from.rate);
    add(to, slope);
    from = to;
    if (pieces.back().end_level >= cap) return pieces;
  }
  const double rate = cap * job.ceiling;
  add({rate, cores_at(job.cores_curve, rate)}, slope);  // the last slope
  return pieces;
}

}  // namespace

Status check_job(const ClusterState& state, const ClusterJob& job) {
  if (state.slot_of_id.count(job.id) > 0) {
    return invalid(fmt::format("job {}: is there already", job.id));
  }
  const int pools = static_cast<int>(state.resources.size()) - 2 * state.nodes;
  if (Status status = check_fields(job, pools); !status) return status;
  std::set<int> seen;
  for (const ClusterPart& part : job.parts) {
    if (Status status = check_part(job, part, state.nodes); !status)
      return status;
    if (!seen.insert(part.node).second) {
      return invalid(
          fmt::format("job {}: names node {} twice", job.id, part.node));
    }
    const Resource& cores = state.resources[part.node];
    const double entitled = cores.entitled_cores + part.entitled_cores;
    if (entitled > cores.capacity * (1 + kTolerance)) {
      return Error{Code::kInfeasible, 0,
                   fmt::format("node {} has {} loader cores: with job {} its "
                               "jobs would be entitled to {}",
                               part.node, cores.capacity, job.id, entitled)};
    }
  }
  return Done{};
}

JobState make_job(const ClusterState& state, const ClusterJob& job) {
  JobState made;
  made.id = job.id;
  made.weight = job.weight;
  made.ceiling = job.ceiling;
  const auto level_of_cores = [&](double cores) {
    return std::min(1.0, rate_at(job.cores_curve, cores) / job.ceiling);
  };
  made.cap = level_of_cores(job.max_cores_per_rank);
  const double bytes_per_level = job.bytes_per_sample * job.ceiling;
  if (bytes_per_level > 0) made.level_per_byte = 1 / bytes_per_level;
  const auto add_bytes = [&](int number, double ranks) {
    const double capacity = state.resources[number].capacity;
    if (bytes_per_level == 0 || capacity == 0) return;
    made.cap = std::min(made.cap, capacity / (ranks * bytes_per_level));
    made.links.push_back({number, ranks * bytes_per_level, ranks});
  };
  double ranks = 0;
  for (const ClusterPart& part : job.parts) ranks += part.ranks;
  if (job.pool >= 0) add_bytes(state.pool(job.pool), ranks);
  for (const ClusterPart& part : job.parts) {
    add_bytes(state.ingest_of(part.node), part.ranks);
  }
  made.core_floor = 1;
  for (const ClusterPart& part : job.parts) {
    const double factor = part.ranks * part.core_factor;
    const double all = state.resources[part.node].capacity / factor;
    made.cap = std::min(made.cap, level_of_cores(all));
    made.core_floor =
        std::min(made.core_floor, level_of_cores(part.entitled_cores / factor));
    made.links.push_back({part.node, factor, part.ranks, part.entitled_cores});
  }
  made.core_floor = std::min(made.core_floor, made.cap);
  made.pieces = level_pieces(job, made.cap);
  for (const LevelPiece& piece : made.pieces) {
    if (piece.end_cores == 0) made.coreless_level = piece.end_level;
  }
  return made;
}

}  // namespace penstock::allocator
