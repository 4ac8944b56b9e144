#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "select_ext/allocator/problem.h"

namespace penstock::allocator {
namespace {

// Amounts are whole thousandths of a core, so that sums are exact.
constexpr int64_t kWholeCpu = 1000;
constexpr int64_t kLeastLoan = 50;
// Spare share that a core with several hardware threads needs to be lent. Its
// threads slow each other down, and no scheduling priority prevents that.
constexpr double kSpareOfCore = 0.9;

int64_t to_thousandths(double cores) {
  if (!(cores > 0)) return 0;  // NaN too
  // 0.3 * 1000 is less than 300 in floating point.
  return static_cast<int64_t>(std::min(cores, 1e9) * 1000 + 1e-6);
}

int lookup(const std::vector<int>& table, int cpu) {
  return cpu < static_cast<int>(table.size()) ? table[cpu] : -1;
}

// A lender, or the unallocated CPUs, with its remaining spare.
struct Source {
  uint64_t id = 0;
  int64_t unopened = 0;  // spare that is not yet placed on a core
};

// A physical core whose CPUs all belong to one source.
struct Core {
  std::vector<int> cpus;  // its hardware threads
  size_t source = 0;
  int numa_node = -1;
  bool opened = false;
  int64_t left = 0;  // of an opened core
  int64_t lent = 0;

  int64_t whole() const {
    return static_cast<int64_t>(cpus.size()) * kWholeCpu;
  }
  int64_t least_spare() const {
    return cpus.size() == 1 ? kLeastLoan
                            : static_cast<int64_t>(
                                  kSpareOfCore * static_cast<double>(whole()));
  }
};

struct Borrower {
  size_t job = 0;
  int64_t wish = 0;
  int64_t threads = 0;  // loader threads that may still be placed on lent CPUs
  std::vector<int> numa_nodes;
  std::vector<Loan> loans;
};

class Rounding {
 public:
  explicit Rounding(const RoundingInput& input) : input_(input) {
    add_source(0, input.idle_cpus.size() * kWholeCpu, input.idle_cpus);
    for (size_t j = 0; j < input.jobs.size(); ++j) add_job(j);
    find_whole_cores();
  }

  Rounded run() {
    while (Borrower* borrower = neediest()) {
      if (Core* core = best_core(*borrower)) {
        lend(*borrower, *core);
      } else {
        borrower->wish = 0;
      }
    }
    return finish();
  }

 private:
  int64_t home_share(const RoundingJob& job) const {
    const int64_t home = static_cast<int64_t>(job.home_cpus.size()) * kWholeCpu;
    return std::max<int64_t>(0, home - to_thousandths(job.reserve_cores));
  }

  void add_source(uint64_t id, int64_t spare, const CpuSet& cpus) {
    for (int cpu : cpus.cpus()) sources_of_[cpu].push_back(sources_.size());
    sources_.push_back({id, spare});
  }

  void add_job(size_t j) {
    const RoundingJob& job = input_.jobs[j];
    const int64_t granted = to_thousandths(job.granted_cores);
    const int64_t at_home = std::min(granted, home_share(job));
    realised_.push_back(at_home);
    add_source(job.id, home_share(job) - at_home, job.home_cpus);
    Borrower borrower;
    borrower.job = j;
    borrower.wish = granted - at_home;
    // Threads that the home share keeps busy cannot also run on lent CPUs.
    const int64_t busy_at_home = (at_home + kWholeCpu - 1) / kWholeCpu;
    borrower.threads = job.loader_threads - busy_at_home;
    for (int cpu : job.home_cpus.cpus()) {
      borrower.numa_nodes.push_back(lookup(input_.numa_node_of_cpu, cpu));
    }
    borrowers_.push_back(std::move(borrower));
  }

  // Excludes CPUs with two owners, and cores that belong only in part to a
  // source.
  void find_whole_cores() {
    std::map<int, size_t> threads;
    for (int core : input_.core_of_cpu) ++threads[core];
    std::map<std::pair<int, size_t>, Core> parts;
    for (const auto& [cpu, sources] : sources_of_) {
      if (sources.size() > 1) continue;
      const int core = lookup(input_.core_of_cpu, cpu);
      // A CPU whose core is unknown is a core of its own.
      Core& part = parts[{core < 0 ? -1 - cpu : core, sources.front()}];
      part.cpus.push_back(cpu);
      part.source = sources.front();
      part.numa_node = lookup(input_.numa_node_of_cpu, cpu);
    }
    for (auto& [key, part] : parts) {
      const bool is_whole =
          key.first < 0 || part.cpus.size() == threads[key.first];
      if (is_whole) cores_.push_back(std::move(part));
    }
  }

  Borrower* neediest() {
    Borrower* best = nullptr;
    for (Borrower& borrower : borrowers_) {
      if (borrower.wish < kLeastLoan || borrower.threads <= 0) continue;
      if (!best || borrower.wish > best->wish) best = &borrower;
    }
    return best;
  }

  // 0: the core cannot be lent.
  int64_t available(const Core& core) const {
    if (core.opened) return core.left < kLeastLoan ? 0 : core.left;
    const int64_t spare = sources_[core.source].unopened;
    return spare < core.least_spare() ? 0 : std::min(core.whole(), spare);
  }

  // Sort key, smallest first: idle, near the GPUs that the batches go to, on
  // the home NUMA node, the tightest fit, the lowest number.
  auto rank(const Borrower& borrower, const Core& core) const {
    const int64_t amount = available(core);
    const bool is_near_home =
        core.numa_node >= 0 &&
        std::find(borrower.numa_nodes.begin(), borrower.numa_nodes.end(),
                  core.numa_node) != borrower.numa_nodes.end();
    const bool holds_all = amount >= borrower.wish;
    const CpuSet& near_cpus = input_.jobs[borrower.job].near_cpus;
    return std::make_tuple(
        core.source != 0, !near_cpus.contains(core.cpus.front()), !is_near_home,
        !holds_all, holds_all ? amount : -amount, core.cpus.front());
  }

  Core* best_core(const Borrower& borrower) {
    Core* best = nullptr;
    for (Core& core : cores_) {
      const bool is_own = core.source == borrower.job + 1;
      if (is_own || available(core) == 0) continue;
      if (!best || rank(borrower, core) < rank(borrower, *best)) best = &core;
    }
    return best;
  }

  void lend(Borrower& borrower, Core& core) {
    if (!core.opened) {
      core.opened = true;
      core.left = std::min(core.whole(), sources_[core.source].unopened);
      sources_[core.source].unopened -= core.left;
    }
    const int64_t amount =
        std::min({core.left, borrower.wish, borrower.threads * kWholeCpu});
    // Divides the amount evenly over the core's CPUs: part(lent, i) is the
    // share of CPU i in `lent`.
    const auto cpus = static_cast<int64_t>(core.cpus.size());
    const auto part = [cpus](int64_t lent, int64_t i) {
      return (lent + i) / cpus;
    };
    for (int64_t i = 0; i < cpus; ++i) {
      const int64_t more = part(core.lent + amount, i) - part(core.lent, i);
      borrower.loans.push_back({input_.jobs[borrower.job].id,
                                sources_[core.source].id, core.cpus[size_t(i)],
                                static_cast<double>(more) / kWholeCpu});
    }
    core.left -= amount;
    core.lent += amount;
    borrower.wish -= amount;
    borrower.threads -= cpus;
    realised_[borrower.job] += amount;
  }

  Rounded finish() {
    Rounded rounded;
    for (Borrower& borrower : borrowers_) {
      std::sort(borrower.loans.begin(), borrower.loans.end(),
                [](const Loan& a, const Loan& b) { return a.cpu < b.cpu; });
      rounded.loans.insert(rounded.loans.end(), borrower.loans.begin(),
                           borrower.loans.end());
      const double realised =
          static_cast<double>(realised_[borrower.job]) / kWholeCpu;
      const double granted = input_.jobs[borrower.job].granted_cores;
      rounded.realised_cores.push_back(realised);
      if (granted > 0) rounded.loss_cores += granted - realised;
    }
    return rounded;
  }

  const RoundingInput& input_;
  std::vector<Source> sources_;  // the unallocated CPUs, then one per job
  std::map<int, std::vector<size_t>> sources_of_;  // jobs that have a CPU as
                                                   // home CPU
  std::vector<Core> cores_;
  std::vector<Borrower> borrowers_;  // one per job, lenders included
  std::vector<int64_t> realised_;
};

}  // namespace

Rounded round_to_cpus(const RoundingInput& input) {
  return Rounding(input).run();
}

}  // namespace penstock::allocator
