// Rules that every rounding must keep, on random nodes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/unit/allocator/random_problem.h"
#include "tests/unit/catch.h"

namespace penstock::allocator::testing {
namespace {

constexpr int kNodes = 10000;
constexpr double kTolerance = 1e-9;

// A node of up to 32 CPUs, with or without SMT, divided into homes of jobs,
// idle CPUs and unmanaged CPUs. Grants are any numbers, not optima.
RoundingInput random_node(RandomProblems& random) {
  RoundingInput input;
  const int cpus = random.whole(1, 32);
  const int threads_per_core = random.whole(1, 3);
  const int nodes = random.whole(1, 2);
  const int jobs = random.whole(1, 6);
  const bool by_core = random.chance(0.5);
  int owner = -2;
  std::vector<std::vector<int>> home(static_cast<size_t>(jobs));
  std::vector<int> idle;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    input.core_of_cpu.push_back(cpu / threads_per_core);
    input.numa_node_of_cpu.push_back(cpu * nodes / cpus);
    // Whole cores of one owner, or single CPUs at random.
    if (cpu % threads_per_core == 0 || !by_core) {
      owner = random.whole(-2, jobs - 1);
    }
    if (owner >= 0) home[static_cast<size_t>(owner)].push_back(cpu);
    if (owner == -1) idle.push_back(cpu);
  }
  input.idle_cpus = CpuSet(idle);
  for (size_t j = 0; j < home.size(); ++j) {
    RoundingJob job;
    job.id = j + 1;
    job.home_cpus = CpuSet(home[j]);
    const double size = static_cast<double>(home[j].size());
    job.reserve_cores = random.chance(0.5) ? 0 : random.real(0, 1.1) * size;
    job.granted_cores = random.chance(0.2) ? random.whole(0, 8)
                                           : random.real(0, 1.5) * (size + 2);
    job.loader_threads = random.whole(0, 12);
    input.jobs.push_back(job);
  }
  return input;
}

double home_share(const RoundingJob& job) {
  const double home = static_cast<double>(job.home_cpus.size());
  return std::max(0.0, home - job.reserve_cores);
}

// Cores that `lender` may lend: a job's, or those of unallocated CPUs.
double spare_of(const RoundingInput& input, uint64_t lender) {
  if (lender == 0) return static_cast<double>(input.idle_cpus.size());
  const RoundingJob& job = input.jobs[lender - 1];
  return std::max(0.0, home_share(job) - job.granted_cores);
}

const CpuSet& cpus_of(const RoundingInput& input, uint64_t lender) {
  return lender == 0 ? input.idle_cpus : input.jobs[lender - 1].home_cpus;
}

// The hardware threads of a CPU's core.
std::vector<int> core_around(const RoundingInput& input, int cpu) {
  std::vector<int> cpus;
  for (int other = 0; other < int(input.core_of_cpu.size()); ++other) {
    if (input.core_of_cpu[size_t(other)] == input.core_of_cpu[size_t(cpu)])
      cpus.push_back(other);
  }
  return cpus;
}

// Loans are of whole cores. If these have several hardware threads, the lender
// needs at most a tenth of them.
void check_cores(const RoundingInput& input, const Rounded& rounded) {
  std::set<std::pair<uint64_t, int>> loans;
  std::map<uint64_t, std::set<int>> lent_smt;
  std::map<std::pair<uint64_t, int>, double> of_core;
  for (const Loan& loan : rounded.loans) loans.emplace(loan.borrower, loan.cpu);
  for (const Loan& loan : rounded.loans) {
    const std::vector<int> core = core_around(input, loan.cpu);
    for (int cpu : core) REQUIRE(loans.contains({loan.borrower, cpu}));
    of_core[{loan.borrower, core.front()}] += loan.cores;
    if (core.size() > 1) lent_smt[loan.lender].insert(loan.cpu);
  }
  for (const auto& [loan, cores] : of_core) REQUIRE(cores >= 0.05 - kTolerance);
  for (const auto& [lender, cpus] : lent_smt) {
    const double least = 0.9 * static_cast<double>(cpus.size());
    REQUIRE(spare_of(input, lender) + 0.002 + kTolerance >= least);
  }
}

void check_loans(const RoundingInput& input, const Rounded& rounded) {
  std::map<int, double> of_cpu;
  std::map<int, uint64_t> lender_of_cpu;
  std::map<uint64_t, double> lent;
  std::map<uint64_t, std::set<int>> lent_cpus;
  std::set<std::pair<uint64_t, int>> pairs;
  for (const Loan& loan : rounded.loans) {
    REQUIRE(loan.borrower != loan.lender);
    REQUIRE(cpus_of(input, loan.lender).contains(loan.cpu));
    REQUIRE(!cpus_of(input, loan.borrower).contains(loan.cpu));
    const double thousandths = loan.cores * 1000;
    REQUIRE(std::abs(thousandths - std::round(thousandths)) < 1e-6);
    const auto [owner, is_new] = lender_of_cpu.emplace(loan.cpu, loan.lender);
    REQUIRE((is_new || owner->second == loan.lender));
    REQUIRE(pairs.emplace(loan.borrower, loan.cpu).second);
    of_cpu[loan.cpu] += loan.cores;
    lent[loan.lender] += loan.cores;
    lent_cpus[loan.lender].insert(loan.cpu);
  }
  for (const auto& [cpu, cores] : of_cpu) REQUIRE(cores <= 1 + kTolerance);
  for (const auto& [lender, cores] : lent) {
    const double spare = spare_of(input, lender);
    // Reserve and grant are each rounded down to a thousandth.
    REQUIRE(cores <= spare + 0.002 + kTolerance);
    const size_t threads =
        core_around(input, *lent_cpus[lender].begin()).size();
    REQUIRE(lent_cpus[lender].size() <=
            std::ceil((spare + 0.002) / double(threads)) * double(threads));
  }
}

void check_jobs(const RoundingInput& input, const Rounded& rounded) {
  double loss = 0;
  for (size_t j = 0; j < input.jobs.size(); ++j) {
    const RoundingJob& job = input.jobs[j];
    int away = 0;
    int threads_per_core = 1;
    double borrowed = 0;
    for (const Loan& loan : rounded.loans) {
      if (loan.borrower != job.id) continue;
      ++away;
      borrowed += loan.cores;
      threads_per_core =
          std::max(threads_per_core, int(core_around(input, loan.cpu).size()));
    }
    REQUIRE(away <= std::max(0, job.loader_threads + threads_per_core - 1));
    REQUIRE(borrowed <= std::max(0, job.loader_threads) + kTolerance);
    const double at_home = std::min(job.granted_cores, home_share(job));
    REQUIRE(std::abs(rounded.realised_cores[j] - at_home - borrowed) <=
            0.001 + kTolerance);
    REQUIRE(rounded.realised_cores[j] <= job.granted_cores + 1e-8);
    loss += job.granted_cores - rounded.realised_cores[j];
  }
  REQUIRE(rounded.loss_cores == Approx(loss).margin(kTolerance));
}

// A job with threads and an unmet grant must have found no more to borrow.
void check_nothing_left(const RoundingInput& input, const Rounded& rounded) {
  double whole_idle = 0;
  for (int cpu : input.idle_cpus.cpus()) {
    const std::vector<int> core = core_around(input, cpu);
    const bool is_whole = std::all_of(core.begin(), core.end(), [&](int other) {
      return input.idle_cpus.contains(other);
    });
    if (is_whole) ++whole_idle;
  }
  double idle_left = whole_idle;
  for (const Loan& loan : rounded.loans) {
    if (loan.lender == 0) idle_left -= loan.cores;
  }
  for (size_t j = 0; j < input.jobs.size(); ++j) {
    const RoundingJob& job = input.jobs[j];
    const auto away = std::count_if(
        rounded.loans.begin(), rounded.loans.end(),
        [&](const Loan& loan) { return loan.borrower == job.id; });
    const double at_home = std::min(job.granted_cores, home_share(job));
    const double threads_left = job.loader_threads -
                                std::ceil(at_home - kTolerance) -
                                static_cast<double>(away);
    const double wish = job.granted_cores - rounded.realised_cores[j];
    if (threads_left <= 0 || wish < 0.051) continue;
    // Only remainders too small to lend may be left of the idle CPUs.
    REQUIRE(idle_left < 0.05 * whole_idle + kTolerance);
  }
}

std::string describe(const RoundingInput& input) {
  std::string text = "idle " + input.idle_cpus.to_string() + "\n";
  for (const RoundingJob& job : input.jobs) {
    text += fmt::format("job {}: home {}, reserve {}, granted {}, threads {}\n",
                        job.id, job.home_cpus.to_string(), job.reserve_cores,
                        job.granted_cores, job.loader_threads);
  }
  return text;
}

TEST_CASE("rounding lends each available CPU once and reports the remainder") {
  RandomProblems random(test_seed("rounding_property_test"));
  size_t loans = 0;
  for (int i = 0; i < kNodes; ++i) {
    const RoundingInput input = random_node(random);
    const Rounded rounded = round_to_cpus(input);
    INFO("node " << i << "\n" << describe(input));
    check_loans(input, rounded);
    check_cores(input, rounded);
    check_jobs(input, rounded);
    check_nothing_left(input, rounded);
    loans += rounded.loans.size();
  }
  REQUIRE(loans > kNodes);  // the nodes give enough loans to test
}

}  // namespace
}  // namespace penstock::allocator::testing
