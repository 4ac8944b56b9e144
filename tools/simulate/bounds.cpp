#include "tools/simulate/bounds.h"

#include <algorithm>
#include <limits>

namespace penstock::simulate {
namespace {

// A job's minimum payment over its measured points. Cores carry `cores_share`
// of the price, GPUs the rest.
double least_payment(const TraceJob& job, const ClusterSize& size,
                     double cores_share) {
  const double gpus = size.nodes * static_cast<double>(size.gpus_per_node);
  const double cores = size.nodes * size.cores_per_node;
  double least = std::numeric_limits<double>::infinity();
  for (const allocator::MeasuredPoint& point : job.curve) {
    const double rate = std::min(point.rate, job.ceiling);
    if (rate <= 0) continue;
    const double gpu_s = job.gpus * job.iterations / rate;
    least = std::min(least, gpu_s * ((1 - cores_share) / gpus +
                                     cores_share * point.cores / cores));
  }
  return least;
}

}  // namespace

double fluid_makespan_s(const std::vector<TraceJob>& trace,
                        const ClusterSize& size) {
  const auto payments = [&](double cores_share) {
    double sum = 0;
    for (const TraceJob& job : trace) {
      sum += least_payment(job, size, cores_share);
    }
    return sum;
  };
  // A sum of minima of linear functions is concave, so ternary search works.
  double low = 0;
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    const double left = low + (high - low) / 3;
    const double right = high - (high - low) / 3;
    if (payments(left) < payments(right)) {
      low = left;
    } else {
      high = right;
    }
  }
  return payments((low + high) / 2);
}

}  // namespace penstock::simulate
