#include "tests/unit/allocator/random_problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace penstock::allocator::testing {
namespace {

constexpr double kTolerance = 1e-9;

bool exceeds(double value, double limit) {
  return value > limit + kTolerance * std::abs(limit);
}

bool differs(double a, double b) {
  return std::abs(a - b) > kTolerance * (std::abs(a) + std::abs(b));
}

std::string broken_job_rule(const Job& job, const Allocation::Grant& grant) {
  const double cores = cores_needed(job, grant.rate);
  if (grant.id != job.id) return fmt::format("job {}: its id", job.id);
  if (!std::isfinite(grant.rate) || exceeds(job.floor, grant.rate) ||
      exceeds(grant.rate, job.ceiling)) {
    return fmt::format("job {}: its rate {}", job.id, grant.rate);
  }
  // Near a bend with 0 cores both terms cancel.
  const double scale = cores_needed(job, job.ceiling);
  if (std::abs(grant.cores - cores) > kTolerance * scale ||
      exceeds(cores, job.max_cores)) {
    return fmt::format("job {}: its cores {} against {}", job.id, grant.cores,
                       cores);
  }
  if (differs(grant.bytes_per_s, grant.rate * job.bytes_per_rate)) {
    return fmt::format("job {}: its bytes {}", job.id, grant.bytes_per_s);
  }
  return "";
}

}  // namespace

uint64_t test_seed(const char* test) {
  const char* given = std::getenv("PENSTOCK_TEST_SEED");
  const uint64_t seed =
      given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("%s: PENSTOCK_TEST_SEED=%llu\n", test,
              static_cast<unsigned long long>(seed));
  return seed;
}

double RandomProblems::real(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random_);
}

int RandomProblems::whole(int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random_);
}

Job RandomProblems::next_job(bool is_whole, int pools) {
  Job job;
  job.weight = is_whole ? whole(1, 4) : std::pow(10, real(-1, 1.5));
  const double scale = is_whole ? 1 : std::pow(10, real(-2, 4));
  const int pieces = whole(1, 5);
  double slope = chance(0.05) ? 0
                 : is_whole   ? 0.5 * whole(1, 4)
                              : real(0.05, 2);
  Job::Point point;
  for (int i = 0; i < pieces; ++i) {
    const double length = is_whole ? whole(1, 3) : real(0.1, 2);
    point.rate += length * scale;
    point.cores += length * slope;
    job.cores_curve.push_back(point);
    slope += is_whole ? 0.5 * whole(0, 2) : real(0, 2);
  }
  job.ceiling = point.rate * (is_whole ? 1 : real(0.3, 1.3));
  if (chance(0.7)) {
    job.bytes_per_rate =
        is_whole ? whole(1, 3) : std::pow(10, real(6, 9)) / job.ceiling;
  }
  job.pool = whole(-1, pools - 1);
  return job;
}

// Shares of the use of all jobs at their ceilings: mostly too small.
void RandomProblems::set_capacities(Problem& problem, bool is_whole) {
  const auto capacity = [&](double demand) {
    const double part = demand * real(0.05, 1.2);
    return is_whole ? std::max(1.0, std::round(part)) : std::max(1e-3, part);
  };
  double cores = 0;
  double bytes_per_s = 0;
  std::vector<double> pools(problem.pools.size(), 0);
  for (const Job& job : problem.jobs) {
    cores += cores_needed(job, job.ceiling);
    const double bytes = job.bytes_per_rate * job.ceiling;
    bytes_per_s += bytes;
    if (job.pool >= 0) pools[job.pool] += bytes;
  }
  problem.cores = chance(0.01) ? 0 : capacity(cores);
  if (chance(0.3)) problem.ingest_bytes_per_s = capacity(bytes_per_s);
  for (size_t i = 0; i < pools.size(); ++i) {
    problem.pools[i] = capacity(pools[i]);
  }
}

// Every job is entitled to an even split of all resources; its floor is the
// rate of that, half of it, or 0. Often the floors leave nothing free.
void RandomProblems::set_floors(Problem& problem) {
  const double jobs = static_cast<double>(problem.jobs.size());
  const double part_of_all = 0.5 * whole(0, 2);
  for (Job& job : problem.jobs) {
    double bytes_per_s = std::numeric_limits<double>::infinity();
    if (problem.ingest_bytes_per_s > 0) {
      bytes_per_s = problem.ingest_bytes_per_s / jobs;
    }
    if (job.pool >= 0) {
      bytes_per_s = std::min(bytes_per_s, problem.pools[job.pool] / jobs);
    }
    const double part = chance(0.7) ? part_of_all : 0.5 * whole(0, 2);
    job.floor = part * entitled_rate(job, problem.cores / jobs, bytes_per_s);
    if (chance(0.3)) {
      job.max_cores = cores_needed(job, job.floor) * real(1, 2);
      if (chance(0.8)) job.max_cores += problem.cores * real(0, 0.5);
    }
  }
}

Problem RandomProblems::next() {
  const bool is_whole = chance(0.5);
  Problem problem;
  const int pools = whole(0, 3);
  problem.pools.resize(static_cast<size_t>(pools));
  const int jobs = whole(1, 12);
  for (int j = 0; j < jobs; ++j) {
    if (is_whole && j > 0 && chance(0.3)) {
      problem.jobs.push_back(problem.jobs.back());  // a tie
    } else {
      problem.jobs.push_back(next_job(is_whole, pools));
    }
    problem.jobs.back().id = static_cast<uint64_t>(j) + 1;
  }
  set_capacities(problem, is_whole);
  set_floors(problem);
  return problem;
}

double cores_needed(const Job& job, double rate) {
  Job::Point from;
  double cores = 0;
  for (const Job::Point& to : job.cores_curve) {
    const double slope = (to.cores - from.cores) / (to.rate - from.rate);
    cores = std::max(cores, from.cores + slope * (rate - from.rate));
    from = to;
  }
  return cores;
}

std::string broken_rule(const Problem& problem, const Allocation& allocation) {
  if (allocation.grants.size() != problem.jobs.size()) return "grants.size()";
  double cores = 0;
  double bytes_per_s = 0;
  std::vector<double> pools(problem.pools.size(), 0);
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const Job& job = problem.jobs[j];
    const Allocation::Grant& grant = allocation.grants[j];
    if (std::string rule = broken_job_rule(job, grant); !rule.empty()) {
      return rule;
    }
    cores += grant.cores;
    bytes_per_s += grant.bytes_per_s;
    if (job.pool >= 0) pools[job.pool] += grant.bytes_per_s;
  }
  if (exceeds(cores, problem.cores)) return fmt::format("cores: {}", cores);
  if (problem.ingest_bytes_per_s > 0 &&
      exceeds(bytes_per_s, problem.ingest_bytes_per_s)) {
    return fmt::format("ingest: {}", bytes_per_s);
  }
  for (size_t i = 0; i < pools.size(); ++i) {
    if (exceeds(pools[i], problem.pools[i])) {
      return fmt::format("pool {}: {}", i, pools[i]);
    }
  }
  return "";
}

std::string describe(const Problem& problem) {
  std::string text =
      fmt::format("cores {}, ingest {}, pools {}\n", problem.cores,
                  problem.ingest_bytes_per_s, fmt::join(problem.pools, " "));
  for (const Job& job : problem.jobs) {
    text += fmt::format(
        "job {}: weight {}, floor {}, ceiling {}, bytes {}, pool {}, max_cores "
        "{}, curve",
        job.id, job.weight, job.floor, job.ceiling, job.bytes_per_rate,
        job.pool, job.max_cores);
    for (const Job::Point& point : job.cores_curve) {
      text += fmt::format(" ({}, {})", point.rate, point.cores);
    }
    text += "\n";
  }
  return text;
}

}  // namespace penstock::allocator::testing
