// Part of `penstock bench allocator`: time to solve a node with 2 to 64 jobs,
// and to round the solution to CPUs.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <random>

#include "bench/allocator/bench_allocator.h"
#include "select_ext/allocator/problem.h"

namespace penstock {
namespace {

using allocator::Allocation;
using allocator::Problem;

constexpr int kRuns = 25;
constexpr int kCpusPerJob = 4;
constexpr double kPoolBytesPerSPerJob = 50e6;

struct Node {
  Problem problem;
  allocator::RoundingInput rounding;  // grants are set after solving
};

double between(double low, double high, std::mt19937_64& random) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

// Jobs with equal slices of CPUs and storage and a need of 0.33 to 4 slices of
// CPUs. Their floors are the slices' rates.
Node random_node(int jobs, std::mt19937_64& random) {
  Node node;
  node.problem.cores = jobs * kCpusPerJob;
  node.problem.pools = {jobs * kPoolBytesPerSPerJob};
  for (int i = 0; i < jobs; ++i) {
    allocator::Job job;
    job.id = i + 1;
    job.ceiling = between(50, 2000, random);
    double cores = kCpusPerJob * between(0.33, 4, random);
    job.cores_curve = {{job.ceiling, cores}};
    job.pool = 0;
    job.bytes_per_rate =
        kPoolBytesPerSPerJob * between(0, 2, random) / job.ceiling;
    job.floor =
        allocator::entitled_rate(job, kCpusPerJob, kPoolBytesPerSPerJob) *
        (1 - 1e-9);
    node.problem.jobs.push_back(std::move(job));
    std::vector<int> home;
    home.reserve(kCpusPerJob);
    for (int k = 0; k < kCpusPerJob; ++k) home.push_back(i * kCpusPerJob + k);
    node.rounding.jobs.push_back(
        {static_cast<uint64_t>(i + 1), CpuSet(home), 0, 0, 4 * kCpusPerJob});
  }
  return node;
}

double timed_us(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now() - start)
      .count();
}

struct Times {
  std::vector<double> solve_us;
  std::vector<double> round_us;
  std::vector<double> lost;  // share of the granted cores lost by rounding
};

Result<Times> measure(int jobs, Policy policy) {
  std::mt19937_64 random(jobs);  // the same problems for each policy
  Times times;
  for (int run = 0; run < kRuns; ++run) {
    Node node = random_node(jobs, random);
    Result<Allocation> answer = Allocation{};
    times.solve_us.push_back(
        timed_us([&] { answer = allocator::solve(node.problem, policy); }));
    if (!answer) return std::move(answer).error();
    for (int i = 0; i < jobs; ++i) {
      node.rounding.jobs[i].granted_cores = answer->grants[i].cores;
    }
    allocator::Rounded rounded;
    times.round_us.push_back(
        timed_us([&] { rounded = allocator::round_to_cpus(node.rounding); }));
    times.lost.push_back(rounded.loss_cores / node.problem.cores);
  }
  return times;
}

}  // namespace

Result<std::vector<BenchFigure>> node_figures() {
  std::vector<BenchFigure> figures;
  for (size_t i = 0; i < std::size(kPolicyNames); ++i) {
    const auto policy = static_cast<Policy>(i);
    if (!lends(policy)) continue;
    for (int jobs = 2; jobs <= 64; jobs *= 2) {
      Result<Times> times = measure(jobs, policy);
      if (!times) return std::move(times).error();
      figures.push_back(
          summarise(fmt::format("solve_{}_{}_jobs_us", kPolicyNames[i], jobs),
                    "us", std::move(times->solve_us)));
      if (i > 0) continue;  // rounding is the same
      figures.push_back(summarise(fmt::format("round_{}_jobs_us", jobs), "us",
                                  std::move(times->round_us)));
      figures.push_back(summarise(fmt::format("round_{}_jobs_loss", jobs), "1",
                                  std::move(times->lost)));
    }
  }
  return figures;
}

}  // namespace penstock
