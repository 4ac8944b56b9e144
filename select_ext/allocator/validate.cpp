#include <fmt/format.h>

#include <cmath>

#include "select_ext/allocator/curve.h"
#include "select_ext/allocator/problem.h"

namespace penstock::allocator {
namespace {

// Curves are computed from sums and quotients of measured numbers. A relative
// decrease of the slope up to this is rounding, not shape.
constexpr double kConvexTolerance = 1e-9;

Error bad_field(const Job& job, const char* field, double value,
                const char* allowed) {
  return invalid(fmt::format("job {}: {} is {}, must be {}", job.id, field,
                             value, allowed));
}

// The defect of the point `to` that follows `from`, or null.
const char* point_error(const Job::Point& from, const Job::Point& to,
                        double last_slope) {
  if (!std::isfinite(to.rate) || !std::isfinite(to.cores)) {
    return "is not finite";
  }
  if (to.rate <= from.rate) return "does not ascend in rate";
  if (to.cores < from.cores) return "falls in cores";
  const double slope = (to.cores - from.cores) / (to.rate - from.rate);
  if (slope < last_slope * (1 - kConvexTolerance)) {
    return "is not convex: use concave_hull first";
  }
  return nullptr;
}

Status validate_job(const Job& job, size_t pools) {
  if (!std::isfinite(job.weight) || job.weight <= 0) {
    return bad_field(job, "weight", job.weight, "finite and over 0");
  }
  if (!std::isfinite(job.ceiling) || job.ceiling <= 0) {
    return bad_field(job, "ceiling", job.ceiling, "finite and over 0");
  }
  if (!(job.floor >= 0 && job.floor <= job.ceiling)) {
    return bad_field(job, "floor", job.floor, "from 0 to the ceiling");
  }
  if (!std::isfinite(job.bytes_per_rate) || job.bytes_per_rate < 0) {
    return bad_field(job, "bytes_per_rate", job.bytes_per_rate,
                     "finite and at least 0");
  }
  if (!(job.max_cores >= 0)) {
    return bad_field(job, "max_cores", job.max_cores, "at least 0");
  }
  if (job.pool < -1 || job.pool >= static_cast<int>(pools)) {
    return invalid(
        fmt::format("job {}: pool is {}, there are {} pools and -1 "
                    "is none",
                    job.id, job.pool, pools));
  }
  return validate_curve(job.id, job.cores_curve);
}

}  // namespace

Status validate_curve(uint64_t job, const Curve& curve) {
  Job::Point from;
  double last_slope = 0;
  for (size_t i = 0; i < curve.size(); ++i) {
    const Job::Point& to = curve[i];
    if (i == 0 && to.rate == 0 && to.cores == 0) continue;
    if (const char* error = point_error(from, to, last_slope)) {
      return invalid(
          fmt::format("job {}: cores_curve[{}] ({} samples/s, {} cores) {}",
                      job, i, to.rate, to.cores, error));
    }
    last_slope = (to.cores - from.cores) / (to.rate - from.rate);
    from = to;
  }
  if (from.rate <= 0) {
    return invalid(fmt::format(
        "job {}: cores_curve has no point with a rate over 0", job));
  }
  return Done{};
}

Status validate(const Problem& problem) {
  if (!std::isfinite(problem.cores) || problem.cores < 0) {
    return invalid(fmt::format("cores is {}, must be finite and at least 0",
                               problem.cores));
  }
  if (!std::isfinite(problem.ingest_bytes_per_s) ||
      problem.ingest_bytes_per_s < 0) {
    return invalid(
        fmt::format("ingest_bytes_per_s is {}, must be finite and at least 0",
                    problem.ingest_bytes_per_s));
  }
  for (size_t i = 0; i < problem.pools.size(); ++i) {
    if (!std::isfinite(problem.pools[i]) || problem.pools[i] <= 0) {
      return invalid(fmt::format("pools[{}] is {}, must be finite and over 0",
                                 i, problem.pools[i]));
    }
  }
  for (const Job& job : problem.jobs) {
    if (Status status = validate_job(job, problem.pools.size()); !status) {
      return status;
    }
  }
  return Done{};
}

}  // namespace penstock::allocator
