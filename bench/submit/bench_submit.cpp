#include "bench/submit/bench_submit.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <ostream>
#include <vector>

#include "bench/figures.h"
#include "bench/submit/paired.h"
#include "bench/submit/submission_reader.h"
#include "bench/submit/two_slurms.h"
#include "select_ext/job_submit/table_writer.h"

namespace penstock {
namespace {

using job_submit::HookStatistics;

constexpr int kWarmUp = 20;  // uncounted submissions at the start
constexpr double kNsPerUs = 1000;

class ScratchFolder {
 public:
  ScratchFolder() {
    char name[] = "/tmp/penstock-bench-XXXXXX";
    if (::mkdtemp(name) != nullptr) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A table of a large site's size: the built-in profiles under many names.
Status write_table(const std::string& path) {
  std::vector<job_submit::ModelDemand> models;
  for (const std::string& name : builtin_profile_names()) {
    const Result<Profile> profile = builtin_profile(name);
    if (!profile) return profile.error();
    const Result<Prediction> prediction = predict(*profile);
    if (!prediction) return prediction.error();
    for (int copy = 0; copy < 20; ++copy) {
      const std::string suffix = copy == 0 ? "" : "-" + std::to_string(copy);
      auto model = job_submit::model_demand(name + suffix, *prediction);
      if (!model) return std::move(model).error();
      models.push_back(*model);
    }
  }
  auto writer = job_submit::TableWriter::open(path);
  if (!writer) return std::move(writer).error();
  return writer->publish(std::move(models), {}, 1);
}

struct Measured {
  std::vector<double> with_s;
  std::vector<double> without_s;
  HookStatistics start, after_pairs, after_stop;
};

// Submits one job, because its datagram carries the statistics.
Result<HookStatistics> statistics(const SubmissionReader& reader,
                                  const TwoSlurms& slurms) {
  Result<double> submitted = submit_held_job_s(slurms.with_plugin());
  if (!submitted) return std::move(submitted).error();
  auto last = reader.last();
  if (!last) return std::move(last).error();
  return last->statistics;
}

Status submit_pairs(int count, const TwoSlurms& slurms,
                    const SubmissionReader& reader, Measured& out) {
  for (int i = 0; i < count; ++i) {
    // Alternate the order, because the second submission may find warmer
    // caches.
    for (const bool with : {i % 2 == 0, i % 2 != 0}) {
      Result<double> took = submit_held_job_s(with ? slurms.with_plugin()
                                                   : slurms.without_plugin());
      if (!took) return std::move(took).error();
      (with ? out.with_s : out.without_s).push_back(*took);
      if (!with) continue;
      // Read each datagram, so that the reader's queue never fills.
      if (auto told = reader.next(); !told) return std::move(told).error();
    }
  }
  return Done{};
}

Result<Measured> measure(int count, const TwoSlurms& slurms,
                         const SubmissionReader& reader, Terminal& terminal) {
  const auto progress = [&](const char* next) {
    if (terminal.interactive) terminal.out << next << "..." << std::endl;
  };
  Measured out;
  if (Status status = submit_pairs(kWarmUp, slurms, reader, out); !status)
    return std::move(status).error();
  out.with_s.clear();
  out.without_s.clear();
  auto seen = statistics(reader, slurms);
  if (!seen) return std::move(seen).error();
  out.start = *seen;
  progress("pairs of submissions");
  if (Status status = submit_pairs(count, slurms, reader, out); !status)
    return std::move(status).error();
  seen = statistics(reader, slurms);
  if (!seen) return std::move(seen).error();
  out.after_pairs = *seen;
  progress("submissions while the reader is stopped");
  reader.stop();
  for (int i = 0; i < count; ++i) {
    Result<double> took = submit_held_job_s(slurms.with_plugin());
    if (!took) return std::move(took).error();
  }
  reader.go_on();
  seen = statistics(reader, slurms);
  if (!seen) return std::move(seen).error();
  out.after_stop = *seen;
  return out;
}

std::vector<BenchFigure> figures_of(const Measured& it) {
  std::vector<BenchFigure> out;
  const auto hook = [&](const char* name, const HookStatistics& before,
                        const HookStatistics& after, double share) {
    out.push_back({name,
                   static_cast<double>(
                       job_submit::hook_quantile_ns(before, after, share)) /
                       kNsPerUs,
                   "us", 0, after.hooks - before.hooks});
  };
  hook("hook_p50_us", it.start, it.after_pairs, 0.5);
  hook("hook_p99_us", it.start, it.after_pairs, 0.99);
  hook("hook_p50_stopped_us", it.after_pairs, it.after_stop, 0.5);
  hook("hook_p99_stopped_us", it.after_pairs, it.after_stop, 0.99);
  out.push_back(
      {"not_sent_stopped",
       static_cast<double>(it.after_stop.not_sent - it.after_pairs.not_sent),
       "1", 0, it.after_stop.hooks - it.after_pairs.hooks});
  const auto milliseconds = [](std::vector<double> seconds) {
    for (double& value : seconds) value *= 1000;
    return seconds;
  };
  out.push_back(summarise("submit_with_ms", "ms", milliseconds(it.with_s)));
  out.push_back(
      summarise("submit_without_ms", "ms", milliseconds(it.without_s)));
  const PairedDifference difference =
      paired_difference(it.with_s, it.without_s);
  const auto interval = [&](const std::string& name, const Interval& of) {
    const size_t runs = it.with_s.size();
    out.push_back({name, of.value, "1", of.high - of.low, runs});
    out.push_back({name + "_low", of.low, "1", 0, runs});
    out.push_back({name + "_high", of.high, "1", 0, runs});
  };
  interval("submit_difference", difference.mean);
  interval("submit_difference_median", difference.median);
  return out;
}

}  // namespace

Status run_bench_submit(int count, const std::string& json_file,
                        Terminal& terminal) {
  const ScratchFolder folder;
  if (folder.path().empty()) return system_error(errno, "/tmp");
  const std::string table = folder.path() + "/demand_table";
  const std::string socket_path = folder.path() + "/submit.sock";
  if (Status status = write_table(table); !status) return status;
  Result<SubmissionReader> reader = SubmissionReader::start(socket_path);
  if (!reader) return std::move(reader).error();
  Result<TwoSlurms> slurms = TwoSlurms::start(table, socket_path);
  if (!slurms) return std::move(slurms).error();
  Result<Measured> measured = measure(count, *slurms, *reader, terminal);
  if (!measured) return std::move(measured).error();
  return publish_figures("submit", figures_of(*measured), json_file, terminal);
}

}  // namespace penstock
