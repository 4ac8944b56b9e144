#include "node_agent/job.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr size_t kReserveSamples = 5;

}  // namespace

void PageSums::add(const Progress& page) {
  constexpr double kNs = 1e-9;
  ranks += 1;
  samples += double(page.samples);
  active_s +=
      double(page.updated_ns - std::min(page.updated_ns, page.started_ns)) *
      kNs;
  wait_s += double(page.wait_ns) * kNs;
  fetch_s += double(page.fetch_ns) * kNs;
  prep_s += double(page.prep_ns) * kNs;
  bytes += double(page.bytes);
  replaying = replaying || page.replaying;
}

PageSums Job::pages() const {
  PageSums sums = ended;
  for (const auto& [pid, task] : tasks) {
    for (const Rank& rank : task.ranks) {
      if (rank.progress) sums.add(*rank.progress);
    }
  }
  return sums;
}

void Job::note(const std::string& text) {
  const std::string cut = text.substr(0, kMaxReportTextBytes);
  const bool known = std::find(notes.begin(), notes.end(), cut) != notes.end();
  if (!known && notes.size() < kMaxReportNotes) notes.push_back(cut);
}

uint32_t Job::ranks() const {
  uint32_t reporting = 0;
  for (const auto& [pid, task] : tasks) {
    for (const Rank& rank : task.ranks) {
      if (rank.progress && !rank.gone) ++reporting;
    }
  }
  return std::max(1u, reporting);
}

CpuSet Job::cpus() const {
  CpuSet all;
  for (const auto& [pid, task] : tasks) all = all | task.home.affinity;
  return all;
}

std::vector<Unit*> Job::units() {
  std::vector<Unit*> all;
  for (auto& [pid, task] : tasks) {
    for (Unit& unit : task.units) all.push_back(&unit);
  }
  return all;
}

bool Job::reports() const {
  return std::any_of(tasks.begin(), tasks.end(), [](const auto& entry) {
    const std::vector<Rank>& ranks = entry.second.ranks;
    return std::any_of(ranks.begin(), ranks.end(), [](const Rank& rank) {
      return rank.progress && !rank.pages.garbage();
    });
  });
}

bool Job::elastic() const {
  return std::any_of(tasks.begin(), tasks.end(), [](const auto& entry) {
    const std::vector<Rank>& ranks = entry.second.ranks;
    return std::any_of(ranks.begin(), ranks.end(), [](const Rank& rank) {
      return rank.progress && rank.progress->loader_threads > 0;
    });
  });
}

std::optional<double> recent_rate(const Job& job, double now_s,
                                  double seconds) {
  double sum = 0;
  int count = 0;
  for (const RatePoint& point : job.rates) {
    if (now_s - point.time_s > seconds) continue;
    sum += point.rate;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

double trainer_reserve_cores(const Job& job) {
  if (job.trainer_cores.size() < kReserveSamples) {
    return job.prior ? job.prior->trainer_reserve_cores * job.ranks() : 0.0;
  }
  std::vector<double> sorted = job.trainer_cores;
  std::sort(sorted.begin(), sorted.end());
  const auto index = size_t(std::floor(0.95 * double(sorted.size() - 1)));
  return sorted[index];
}

}  // namespace penstock
