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

int64_t to_thousandths(double cores) {
  if (!(cores > 0)) return 0;  // NaN too
  // A grant of 0.3 cores is 300, although 0.3 * 1000 < 300.
  return static_cast<int64_t>(std::min(cores, 1e9) * 1000 + 1e-6);
}

int lookup(const std::vector<int>& table, int cpu) {
  return cpu < static_cast<int>(table.size()) ? table[cpu] : -1;
}

// What a lender, or the unallocated CPUs, can still lend.
struct Source {
  uint64_t id = 0;
  int64_t unopened = 0;  // spare that no CPU has been opened for
};

struct Cpu {
  int number = 0;
  size_t source = 0;
  int numa_node = -1;
  int core = -1;
  bool opened = false;
  int64_t left = 0;       // of an opened CPU
  bool owns_core = true;  // no hardware thread of it is anybody else's
};

struct Borrower {
  size_t job = 0;
  int64_t wish = 0;
  int away_cpus = 0;  // it may still get
  std::vector<int> numa_nodes;
  std::vector<int> cores;  // physical cores on which it has a loan
  std::vector<Loan> loans;
};

class Rounding {
 public:
  explicit Rounding(const RoundingInput& input) : input_(input) {
    add_source(0, input.idle_cpus.size() * kWholeCpu, input.idle_cpus);
    for (size_t j = 0; j < input.jobs.size(); ++j) add_job(j);
    drop_shared_cpus();
    mark_whole_cores();
  }

  Rounded run() {
    while (Borrower* borrower = neediest()) {
      if (Cpu* cpu = best_cpu(*borrower)) {
        lend(*borrower, *cpu);
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
    for (int number : cpus.cpus()) {
      Cpu cpu;
      cpu.number = number;
      cpu.source = sources_.size();
      cpu.numa_node = lookup(input_.numa_node_of_cpu, number);
      cpu.core = lookup(input_.core_of_cpu, number);
      cpus_.push_back(cpu);
    }
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
    // Threads that keep the home share busy cannot be away as well.
    const int64_t busy_at_home = (at_home + kWholeCpu - 1) / kWholeCpu;
    borrower.away_cpus = static_cast<int>(job.loader_threads - busy_at_home);
    for (int cpu : job.home_cpus.cpus()) {
      borrower.numa_nodes.push_back(lookup(input_.numa_node_of_cpu, cpu));
    }
    borrowers_.push_back(std::move(borrower));
  }

  // CPUs that two call their own are not lent.
  void drop_shared_cpus() {
    std::map<int, int> owners;
    for (const Cpu& cpu : cpus_) ++owners[cpu.number];
    std::erase_if(cpus_,
                  [&](const Cpu& cpu) { return owners[cpu.number] > 1; });
  }

  void mark_whole_cores() {
    std::map<int, int> threads;
    for (int core : input_.core_of_cpu) ++threads[core];
    std::map<std::pair<int, size_t>, int> owned;
    for (const Cpu& cpu : cpus_) ++owned[{cpu.core, cpu.source}];
    for (Cpu& cpu : cpus_) {
      cpu.owns_core =
          cpu.core < 0 || owned[{cpu.core, cpu.source}] == threads[cpu.core];
    }
  }

  Borrower* neediest() {
    Borrower* best = nullptr;
    for (Borrower& borrower : borrowers_) {
      if (borrower.wish < kLeastLoan || borrower.away_cpus <= 0) continue;
      if (!best || borrower.wish > best->wish) best = &borrower;
    }
    return best;
  }

  int64_t available(const Cpu& cpu) const {
    return cpu.opened ? cpu.left
                      : std::min(kWholeCpu, sources_[cpu.source].unopened);
  }

  // The smaller the better: idle, near the GPUs that the batches go to, near
  // home, on a core begun or else free of others, the tightest fit, the lowest
  // number.
  auto rank(const Borrower& borrower, const Cpu& cpu) const {
    const int64_t amount = available(cpu);
    const auto contains = [](const std::vector<int>& set, int value) {
      return value >= 0 &&
             std::find(set.begin(), set.end(), value) != set.end();
    };
    const int core_rank = contains(borrower.cores, cpu.core) ? 0
                          : cpu.owns_core                    ? 1
                                                             : 2;
    const bool holds_all = amount >= borrower.wish;
    const CpuSet& near_cpus = input_.jobs[borrower.job].near_cpus;
    return std::make_tuple(cpu.source != 0, !near_cpus.contains(cpu.number),
                           !contains(borrower.numa_nodes, cpu.numa_node),
                           core_rank, !holds_all, holds_all ? amount : -amount,
                           cpu.number);
  }

  Cpu* best_cpu(const Borrower& borrower) {
    Cpu* best = nullptr;
    for (Cpu& cpu : cpus_) {
      const bool is_own = cpu.source == borrower.job + 1;
      if (is_own || available(cpu) < kLeastLoan) continue;
      if (!best || rank(borrower, cpu) < rank(borrower, *best)) best = &cpu;
    }
    return best;
  }

  void lend(Borrower& borrower, Cpu& cpu) {
    if (!cpu.opened) {
      cpu.opened = true;
      cpu.left = std::min(kWholeCpu, sources_[cpu.source].unopened);
      sources_[cpu.source].unopened -= cpu.left;
    }
    const int64_t amount = std::min(cpu.left, borrower.wish);
    cpu.left -= amount;
    borrower.wish -= amount;
    --borrower.away_cpus;
    borrower.cores.push_back(cpu.core);
    realised_[borrower.job] += amount;
    borrower.loans.push_back({input_.jobs[borrower.job].id,
                              sources_[cpu.source].id, cpu.number,
                              static_cast<double>(amount) / kWholeCpu});
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
  std::vector<Cpu> cpus_;
  std::vector<Borrower> borrowers_;  // one per job, also where it only lends
  std::vector<int64_t> realised_;
};

}  // namespace

Rounded round_to_cpus(const RoundingInput& input) {
  return Rounding(input).run();
}

}  // namespace penstock::allocator
