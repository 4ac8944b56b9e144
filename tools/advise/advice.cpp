#include "tools/advise/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/options.h"
#include "common/units.h"
#include "predictor/predictor.h"
#include "predictor/what_if.h"
#include "report/advice.h"
#include "report/core_advice.h"
#include "report/core_model.h"
#include "report/text.h"

namespace penstock::advise {
namespace {

constexpr double kHour_s = 3600;
constexpr int kMostCpus = CoreModel::kMostPerTask;
// Another run may need this much more memory.
constexpr double kMemoryMargin = 1.2;
// From this share of what it asked for on, a job asks for too much memory.
constexpr double kUsesItsMemory = 0.5;

// Work whose duration is known: of the run, `training_s` went with the rate.
struct Work {
  double wall_s = 0;
  double training_s = 0;
  double rate = 0;
};

// What is the same for all choices.
struct Basis {
  const Request& request;
  std::optional<Work> work;
  std::optional<double> bytes_per_sample;
  int paid_cpus = 1;  // of a task, at least: those of the batch script
};

Choice choice_of(Choice::What what, int cpus, const Estimate& rate,
                 const Basis& basis) {
  Choice out;
  out.what = what;
  out.cpus_per_task = cpus;
  out.rate = rate;
  if (basis.bytes_per_sample) {
    out.bytes_per_s = *basis.bytes_per_sample * rate.value;
  }
  const std::optional<Work>& work = basis.work;
  if (!work || !(rate.value > 0)) return out;
  const Request& request = basis.request;
  const double hours = (work->wall_s - work->training_s +
                        work->training_s * work->rate / rate.value) /
                       kHour_s;
  out.hours = hours;
  out.core_hours = hours * std::max(cpus, basis.paid_cpus) * request.tasks();
  if (request.gpus_per_node > 0) {
    out.gpu_hours = hours * request.gpus_per_node * request.nodes;
  }
  return out;
}

Error no_node(const Request& request) {
  return invalid(fmt::format(
      "no node of {} has {} task{} with {} GPU{}{}{}: see penstock advise "
      "--help, and sinfo",
      request.partition.empty() ? "the default partition"
                                : "partition " + printable(request.partition),
      request.tasks_per_node, request.tasks_per_node == 1 ? "" : "s",
      request.gpus_per_node, request.gpus_per_node == 1 ? "" : "s",
      request.gpu_type.empty() ? "" : " of type " + printable(request.gpu_type),
      request.memory_bytes > 0
          ? " and " + format_bytes(request.memory_bytes) + " of memory"
          : ""));
}

Result<int> most_of(const Request& request,
                    const std::optional<std::vector<NodeGroup>>& groups,
                    int otherwise) {
  if (!groups) return otherwise;
  const std::optional<int> most = most_cpus_per_task(request, *groups);
  if (!most) return no_node(request);
  return std::min(*most, kMostCpus);
}

void add_nodes(const Request& request,
               const std::optional<std::vector<NodeGroup>>& groups,
               Advice& out) {
  const int advised = out.advised_cpus_per_task;
  if (!groups) return;
  out.nodes = fitting_nodes(request, advised, *groups);
  const std::optional<int> share = cpus_of_gpu_share(request, *groups);
  if (share && advised > *share && advised > request.cpus_per_task) {
    out.notes.push_back(fmt::format(
        "its GPUs' share of such a node is {} CPU{} per task: with more, GPUs "
        "there may be left without CPUs, and the job may wait longer for its "
        "start",
        *share, *share == 1 ? "" : "s"));
  }
}

void add_conflicts(const Request& request, Advice& out) {
  const bool has_cpus =
      std::any_of(out.lines.begin(), out.lines.end(), [](const auto& line) {
        return line.starts_with("#SBATCH --cpus-per-task");
      });
  if (has_cpus && !request.cpus_option.empty()) {
    out.notes.push_back("leave out " + request.cpus_option +
                        ", which does not go with --cpus-per-task");
  }
}

void add_ignored(const Request& request, Advice& out) {
  if (request.ignored.empty()) return;
  std::string names;
  for (const std::string& name : request.ignored) {
    names += (names.empty() ? "" : ", ") + name;
  }
  out.notes.push_back("the advice leaves out " + names);
}

std::string memory_line(double bytes) {
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  return fmt::format("#SBATCH --mem={:.0f}G",
                     std::max(1.0, std::ceil(bytes / kGibibyte)));
}

bool has_more_workers(const Advice& advice) {
  return std::any_of(
      advice.lines.begin(), advice.lines.end(),
      [](const auto& line) { return line.starts_with("num_workers="); });
}

// Whether the memory asked for should be another one. A run that did not end
// may have needed more later, and so may one with more workers.
bool is_wrong(double asked, double used, bool is_known_to_its_end) {
  if (!(asked > 0)) return false;
  return asked < used ||
         (is_known_to_its_end && used * kMemoryMargin < kUsesItsMemory * asked);
}

void add_memory(const Request& request, const EarlierRun& run, Advice& out) {
  const double asked = request.memory_with(out.advised_cpus_per_task);
  const bool has_less = asked < request.memory_with(request.cpus_per_task);
  if (run.memory_bytes) {
    const double used = *run.memory_bytes * request.tasks_per_node;
    out.memory_bytes = used;
    out.notes.push_back(
        "a task used at most " + format_bytes(*run.memory_bytes) +
        " of memory" +
        (has_more_workers(out) ? "; each further worker takes more" : ""));
    const bool is_known = run.is_complete && !has_more_workers(out);
    if (request.memory_option.empty() && is_wrong(asked, used, is_known)) {
      out.lines.push_back(memory_line(used * kMemoryMargin));
    }
  }
  if (has_less) {
    out.notes.push_back(fmt::format(
        "with {} those CPUs bring {} of memory on a node, less than before",
        request.memory_option, format_bytes(asked)));
  }
}

// A limit of the job's own under what it would read.
void add_bandwidth(const Request& request, const JobReport* report,
                   Advice& out) {
  const double asked = request.bandwidth_bytes_per_s;
  double needed = 0;
  for (const Choice& it : out.choices) {
    const bool is_known = it.bytes_per_s && it.rate.value > 0;
    if (it.what == Choice::What::kMost || !is_known) continue;
    needed = *it.bytes_per_s * it.rate.high / it.rate.value / request.nodes;
  }
  if (report != nullptr && waits_for_storage(*report)) {
    const auto& demand = report->bandwidth.demand_bytes_per_s;  // of all nodes
    const double nodes = std::max(1.0, double(report->nodes.size()));
    needed = std::max(needed, demand ? demand->value / nodes : 0);
  }
  if (asked == 0 || needed <= asked) return;
  out.lines.push_back(bandwidth_line(needed));
  out.notes.push_back(
      fmt::format("a node would read up to {}, and the job's own limit is {}",
                  rate_text(needed), rate_text(asked)));
}

// What the run says of the job's duration.
std::optional<Work> work_of(const Request& request, const EarlierRun& run) {
  const JobReport& report = run.report;
  const auto& rate = report.throughput.measured;
  const bool is_alike = int64_t(report.tasks) == request.tasks();
  if (!run.is_complete || !is_alike || !rate || !(rate->value > 0)) {
    return std::nullopt;
  }
  const double training_s = double(report.quality.samples) / rate->value;
  return Work{report.run_s(), std::min(training_s, report.run_s()),
              rate->value};
}

// A task with more GPUs has more trainers, each with a loader of its own.
Status check_gpus(const Request& request, const EarlierRun& run) {
  if (!run.gpus || request.gpus_per_node == 0) return Done{};
  const double before = double(*run.gpus) / double(run.report.tasks);
  const double now = double(request.gpus_per_node) / request.tasks_per_node;
  if (before == now) return Done{};
  return Error{Code::kNotFound, 0,
               fmt::format("the tasks of job {} had {:.3g} GPUs each, those of "
                           "this one have {:.3g}",
                           run.report.job_id, before, now)};
}

std::optional<double> bytes_per_sample(const JobReport& report) {
  const auto& used = report.bandwidth.used_bytes_per_s;
  const auto& rate = report.throughput.measured;
  if (!used || !rate || !(rate->value > 0)) return std::nullopt;
  return *used / rate->value;
}

std::string basis_of(const EarlierRun& run) {
  return fmt::format(
      "the report of job {}{}, {} long", run.report.job_id,
      run.ended_unix_s > 0 ? ", ended " + date_text(run.ended_unix_s) : "",
      duration_text(run.report.run_s()));
}

Estimate times(const Estimate& it, double factor) {
  return {it.value * factor, it.low * factor, it.high * factor};
}

// The lines of another number of CPUs for this request, whose steps start as
// the earlier run's did.
std::vector<std::string> cpus_lines_for(const Request& request,
                                        const JobReport& report, int cpus) {
  CoreFigures cores = report.cores;
  cores.job = double(request.cpus_per_task) * request.tasks();
  return cpus_lines(cores, uint32_t(request.tasks()), cpus);
}

// CPUs of a task as its steps have them: srun in the batch script of the run
// before took fewer, and will again.
int asked_of_steps(const Request& request, const JobReport& report) {
  const CoreFigures& cores = report.cores;
  if (cores.launch != Launch::kStepOfBatch || !cores.job || !cores.allocated ||
      *cores.allocated >= *cores.job) {
    return request.cpus_per_task;
  }
  return std::min(
      request.cpus_per_task,
      int(std::max(1.0, std::round(*cores.allocated / double(report.tasks)))));
}

// A profile's rates are of a rank, and a task may have several.
class RateOfProfile {
 public:
  RateOfProfile(const WhatIf& what_if, const Request& request)
      : what_if_(what_if),
        ranks_per_task_(request.ranks_per_task()),
        ranks_(double(request.tasks()) * ranks_per_task_) {}

  WhatIfPoint at(int cpus) const {
    Amounts amounts = what_if_.present();
    amounts.cores = double(cpus) / ranks_per_task_;
    return what_if_.at(amounts);
  }
  Estimate rate(int cpus) const {
    const Figure it = at(cpus).samples_per_s;
    return {it.value * ranks_, it.low * ranks_, it.high * ranks_};
  }
  // The fewest CPUs of a task with nearly the rate of the most.
  int cpus_for_best(int most) const {
    const double enough = kDataKeepsUp * at(most).samples_per_s.value;
    int low = 1, high = most;
    while (low < high) {
      const int middle = low + (high - low) / 2;
      if (at(middle).samples_per_s.value >= enough) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  // Loader threads of a rank that use the CPUs.
  double threads(int cpus) const {
    const double of_loader =
        double(cpus) / ranks_per_task_ - at(cpus).trainer_cores;
    return std::max(1.0, std::ceil(of_loader - 0.01));
  }

 private:
  const WhatIf& what_if_;
  int ranks_per_task_;
  double ranks_;
};

// The profile if a sample costs the loader as much as its error allows.
Profile worst_of(const Profile& costs) {
  Profile out = costs;
  const double factor = 1 + costs.relative_error;
  out.loader_cpu_s_per_sample *= factor;
  for (double& rate : out.rate_at_cores) rate /= factor;
  return out;
}

// The costs of a described job, as it is predicted at arrival.
Result<Profile> costs_of(const Profile& described) {
  Result<Prediction> found = predict(described);
  if (!found) return std::move(found).error();
  const Figure& rate = found->ceiling_samples_per_s;
  Profile out;
  out.name = described.name;
  out.accelerator_s_per_sample = 1 / rate.value;
  const auto known = [](const Figure& it) { return it.known() ? it.value : 0; };
  out.loader_cpu_s_per_sample = known(found->loader_cpu_s_per_sample);
  out.bytes_per_sample = known(found->storage_bytes_per_sample);
  out.trainer_cpu_s_per_sample = known(found->trainer_cpu_s_per_sample);
  constexpr double kWidest = 0.99;  // an error of a profile is under 1
  const auto error_of = [](const Figure& it) {
    const bool is_known = it.known() && it.value > 0;
    return is_known ? (it.high - it.low) / 2 / it.value : 0;
  };
  out.relative_error = std::min(
      kWidest,
      std::max(error_of(rate), error_of(found->loader_cpu_s_per_sample)));
  return out;
}

}  // namespace

const char* choice_name(Choice::What what) {
  switch (what) {
    case Choice::What::kAsked:
      return "asked";
    case Choice::What::kAdvised:
      return "advised";
    case Choice::What::kMost:
      return "most";
  }
  return "asked";
}

Result<Advice> advise_by_run(
    const Request& request, const EarlierRun& run,
    const std::optional<std::vector<NodeGroup>>& groups) {
  JobReport report = run.report;
  if (!report.tasks) {
    return Error{
        Code::kNotFound, 0,
        fmt::format("the report of job {} has no task", report.job_id)};
  }
  if (Status alike = check_gpus(request, run); !alike) {
    return std::move(alike).error();
  }
  const double tasks = double(report.tasks);
  const Result<int> most =
      most_of(request, groups,
              int(std::min(report.cores.node.value_or(kMostCpus) / tasks,
                           double{kMostCpus})));
  if (!most) return most.error();
  report.cores.node = *most * tasks;  // where it would run
  const std::optional<CoresChoice> choice = choose_cores(report);
  if (!choice) {
    return Error{Code::kNotFound, 0,
                 fmt::format("the report of job {} tells too little of its "
                             "loader: see penstock report {}",
                             report.job_id, report.job_id)};
  }
  Advice out;
  out.basis = basis_of(run);
  const int asked = asked_of_steps(request, report);
  const int advised = std::min(choice->cpus_per_task, std::max(*most, 1));
  out.advised_cpus_per_task = advised;
  const double scale = request.tasks() / tasks;
  const Basis basis{request, work_of(request, run), bytes_per_sample(report),
                    asked < request.cpus_per_task ? request.cpus_per_task : 1};
  const auto add = [&](Choice::What what, int cpus, LoaderThreads threads) {
    const auto rate = rate_with_cpus(report, cpus, threads);
    if (!rate) return;
    out.choices.push_back(choice_of(what, cpus, times(*rate, scale), basis));
  };
  add(Choice::What::kAsked, asked, LoaderThreads::kAsBefore);
  const bool changes = advised != asked || !choice->threads_line.empty();
  if (changes) add(Choice::What::kAdvised, advised, LoaderThreads::kEnough);
  if (*most > advised && *most > asked) {
    add(Choice::What::kMost, *most, LoaderThreads::kEnough);
  }
  if (!choice->threads_line.empty()) out.lines.push_back(choice->threads_line);
  if (advised != asked) {
    const auto lines = cpus_lines_for(request, report, advised);
    out.lines.insert(out.lines.end(), lines.begin(), lines.end());
  }
  add_memory(request, run, out);
  add_bandwidth(request, &report, out);
  if (scale != 1) {
    out.notes.push_back(fmt::format(
        "that run had {} task{}, this one has {}: rates are scaled, and what "
        "their exchange of gradients costs is not known",
        report.tasks, report.tasks == 1 ? "" : "s", request.tasks()));
  }
  if (CoreModel::of(report)->was_lent()) {
    out.notes.push_back(fmt::format(
        "that run made {} samples/s with {} lent cores, which the next need "
        "not get: the rates above are without them",
        figure_text(report.what_if->here_rate),
        figure_text(report.cores.used_away)));
  }
  add_conflicts(request, out);
  add_nodes(request, groups, out);
  add_ignored(request, out);
  return out;
}

Result<Advice> advise_by_profile(
    const Request& request, const Profile& profile,
    const std::optional<std::vector<NodeGroup>>& groups) {
  Result<Profile> costs =
      profile.describes_job() ? costs_of(profile) : Result<Profile>(profile);
  if (!costs) return std::move(costs).error();
  const Result<WhatIf> what_if = WhatIf::from(*costs);
  if (!what_if) return what_if.error();
  if (!what_if->prep_known()) {
    return Error{Code::kNotFound, 0,
                 "profile " + quoted(profile.name) +
                     " does not say what a sample costs its loader: measure "
                     "it with penstock analyze"};
  }
  const Result<int> most = most_of(request, groups, kMostCpus);
  if (!most) return most.error();
  const RateOfProfile rates(*what_if, request);
  int advised = rates.cpus_for_best(*most);
  // Growing follows what is expected, shrinking the worst that is.
  if (advised < request.cpus_per_task) {
    const Result<WhatIf> worst = WhatIf::from(worst_of(*costs));
    if (!worst) return worst.error();
    advised = std::min(request.cpus_per_task,
                       RateOfProfile(*worst, request).cpus_for_best(*most));
  }
  Advice out;
  out.advised_cpus_per_task = advised;
  out.basis = fmt::format(
      "{} {}, {:.0f}% uncertain",
      profile.describes_job() ? "a prediction for profile" : "profile",
      printable(profile.name), costs->relative_error * 100);
  const double bytes = costs->bytes_per_sample * (1 - costs->cached_share);
  Basis basis{request, std::nullopt, std::nullopt};
  if (bytes > 0) basis.bytes_per_sample = bytes;
  const auto add = [&](Choice::What what, int cpus) {
    out.choices.push_back(choice_of(what, cpus, rates.rate(cpus), basis));
  };
  add(Choice::What::kAsked, request.cpus_per_task);
  if (advised != request.cpus_per_task) add(Choice::What::kAdvised, advised);
  if (*most > std::max(advised, request.cpus_per_task) && groups) {
    add(Choice::What::kMost, *most);
  }
  if (advised != request.cpus_per_task) {
    out.lines = {fmt::format("num_workers={:.0f}", rates.threads(advised)),
                 fmt::format("#SBATCH --cpus-per-task={}", advised)};
    out.notes.push_back(
        "num_workers stands for the loader's workers or threads, whatever the "
        "script calls them");
  }
  add_bandwidth(request, nullptr, out);
  if (request.ranks_per_task() > 1) {
    out.notes.push_back(fmt::format(
        "a task with {} GPUs is taken to have as many trainers, each with a "
        "loader of its own",
        request.ranks_per_task()));
  }
  if (rates.at(advised).extrapolated) {
    out.notes.push_back("more CPUs than the profile was measured with");
  }
  add_conflicts(request, out);
  add_nodes(request, groups, out);
  add_ignored(request, out);
  return out;
}

}  // namespace penstock::advise
