// penstock-train: a training job with an emulated accelerator
// (docs/man/penstock-train.1).
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>

#include "common/clock.h"
#include "common/units.h"
#include "libpenstock/include/penstock.h"
#include "loader/api/asked_cache.h"
#include "loader/api/penstock_link.h"
#include "loader/pipeline/thread_choice.h"
#include "loader/staging/shared_preparer.h"
#include "loader/train/analysed_trainer.h"
#include "loader/train/meeting.h"
#include "loader/train/monitor.h"
#include "loader/train/progress.h"
#include "loader/train/summary.h"
#include "loader/train/train_options.h"
#include "loader/train/trainer.h"
#include "penstock/loader/pipeline.h"

namespace penstock {
namespace {

std::atomic<bool> stop{false};
std::atomic<int> stop_signal{0};

void on_signal(int number) {
  stop_signal = number;
  stop = true;
}

// Other threads are started with these signals blocked (set_signals_blocked()),
// so they always reach the main thread and interrupt its wait.
void install_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

void set_signals_blocked(bool blocked) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, nullptr);
}

int fail(const Error& error) {
  std::fprintf(stderr, "penstock-train: %s\n", error.message.c_str());
  return 1;
}

PipelineOptions loader_options(const TrainOptions& options,
                               size_t dataset_size) {
  PipelineOptions loader;
  loader.batch_samples = options.batch;
  loader.crop_side = options.crop;
  loader.seed = options.seed;
  loader.spans_epochs = true;
  loader.read_mode = options.direct ? ReadMode::kDirect : ReadMode::kBuffered;
  if (options.samples > 0) loader.total_samples = options.samples;
  if (options.epochs > 0) loader.total_samples = options.epochs * dataset_size;
  if (options.replay) loader.total_samples = options.batch;
  // penstock analyze decides when the run ends.
  if (std::getenv(kAnalysisVariable)) loader.total_samples = UINT64_MAX;
  choose_threads({options.threads, options.threads_min, options.threads_max},
                 loader);
  return loader;
}

SharedOptions share_options(const TrainOptions& options,
                            const PipelineOptions& alone) {
  SharedOptions shared{alone};
  shared.name = options.share;
  shared.epochs = options.epochs;
  shared.jobs = options.share_jobs;
  shared.window_batches = options.share_window;
  return shared;
}

// CPU time of all threads but the loader's.
uint64_t trainer_cpu_ns(const BatchSource& loader) {
  const uint64_t loader_ns = loader.counters().cpu_ns;  // first, so <= process
  return process_cpu_ns() - loader_ns;
}

Summary summarise(const Trainer& trainer, const TrainProgress& progress,
                  const BatchSource& loader, bool connected) {
  Summary summary;
  summary.seconds =
      static_cast<double>(trainer.end_ns() - trainer.begin_ns()) * 1e-9;
  summary.samples = progress.samples;
  summary.steps = progress.steps;
  summary.wait_s = static_cast<double>(trainer.wait_ns()) * 1e-9;
  summary.step_s = static_cast<double>(progress.step_ns) * 1e-9;
  summary.loader = loader.counters();
  summary.connected = connected;
  summary.ended_by = stop_signal == SIGTERM  ? "SIGTERM"
                     : stop_signal == SIGINT ? "SIGINT"
                                             : "end";
  return summary;
}

Status write_results(const TrainOptions& options, const Summary& summary) {
  std::fputs(summary_text(options, summary).c_str(), stdout);
  if (!options.json_path.empty()) {
    auto written =
        write_text_file(options.json_path, summary_json(options, summary));
    if (!written) return written;
  }
  if (!options.profile_path.empty()) {
    auto profile = summary_profile(options, summary);
    if (!profile) return std::move(profile).error();
    return write_text_file(options.profile_path, *profile);
  }
  return Done{};
}

// nullopt: no --meet.
Result<std::optional<Meeting>> meet_others(const TrainOptions& options) {
  const char* rank_text = std::getenv("SLURM_PROCID");
  const char* ranks_text = std::getenv("SLURM_NTASKS");
  if (options.meet.empty()) return std::optional<Meeting>();
  const auto rank = parse_uint(rank_text ? rank_text : "", 0, UINT32_MAX);
  const auto ranks = parse_uint(ranks_text ? ranks_text : "", 1, UINT32_MAX);
  if (!rank || !ranks) {
    return invalid("--meet needs SLURM_PROCID and SLURM_NTASKS, as srun sets");
  }
  Result<Meeting> meeting =
      Meeting::join(options.meet, unsigned(*rank), unsigned(*ranks), stop);
  if (!meeting) return std::move(meeting).error();
  return std::optional<Meeting>(*std::move(meeting));
}

// Writes no summary, JSON or profile: such a run's figures mean nothing.
int run_analysed(const TrainOptions& options, Pipeline& loader,
                 const Dataset& dataset, Meeting* meeting,
                 const AnalysisHello& hello, const AnalysisAddress& address) {
  auto link = AnalysisLink::connect(address);
  if (!link) return fail(link.error());
  AnalysedTrainer trainer(options, loader, dataset, meeting, stop,
                          *std::move(link));
  const Status done = trainer.run(hello);
  if (!done) return fail(done.error());
  return stop_signal == 0 ? 0 : 128 + stop_signal;
}

// nullopt: the run is not analysed.
Result<std::optional<AnalysisAddress>> analysis_address() {
  const char* text = std::getenv(kAnalysisVariable);
  if (text == nullptr) return std::optional<AnalysisAddress>();
  auto address = parse_analysis_address(text);
  if (!address) return std::move(address).error();
  return std::optional<AnalysisAddress>(*std::move(address));
}

void warn(const std::string& what) {
  std::fprintf(stderr, "penstock-train: %s\n", what.c_str());
}

// If the cache is unavailable, warns and runs without it.
Result<std::shared_ptr<const Dataset>> open_data(const TrainOptions& options) {
  auto dataset = open_dataset(options.data, options.records, options.rules);
  if (!dataset) return dataset;
  const DatasetFacts facts = (*dataset)->facts();
  if (facts.is_doubtful()) warn((*dataset)->path() + ": " + facts.text());
  if (!options.cache) return dataset;
  SampleCacheOptions wanted = *options.cache;
  wanted.warn = warn;
  return with_asked_cache(
      *std::move(dataset), wanted, [](const Error& why) { warn(why.message); },
      options.cache_peers);
}

// The source is either the pipeline or the share; the other one is null.
struct Loader {
  std::unique_ptr<BatchSource> source;
  Pipeline* pipeline = nullptr;
  SharedPreparer* share = nullptr;
};

Result<Loader> open_loader(const TrainOptions& options,
                           const std::shared_ptr<const Dataset>& dataset,
                           PipelineLink link) {
  const PipelineOptions settings = loader_options(options, dataset->size());
  Loader loader;
  if (options.share.empty()) {
    auto pipeline = Pipeline::create(dataset, settings, std::move(link));
    if (!pipeline) return std::move(pipeline).error();
    loader.pipeline = pipeline->get();
    loader.source = *std::move(pipeline);
    return loader;
  }
  auto share = SharedPreparer::create(dataset, share_options(options, settings),
                                      std::move(link));
  if (!share) return std::move(share).error();
  loader.share = share->get();
  loader.source = *std::move(share);
  return loader;
}

// Drops the share: an analysis measures this job, not the work of others.
TrainOptions analysed_alone(TrainOptions options) {
  if (options.share.empty()) return options;
  warn("analysed without share " + options.share);
  options.share.clear();
  return options;
}

int run(const TrainOptions& given) {
  const auto address = analysis_address();
  if (!address) return fail(address.error());
  const TrainOptions options = *address ? analysed_alone(given) : given;
  auto dataset = open_data(options);
  if (!dataset) return fail(dataset.error());
  const AnalysisHello hello =
      *address ? rank_hello((*address)->secret, options, **dataset)
               : AnalysisHello();

  const PenstockHandle handle(penstock_open(nullptr));
  PipelineLink link = penstock_link(handle.get());
  link.broken = [](const std::string& why) { warn("skipped: " + why); };
  set_signals_blocked(true);
  const auto loader = open_loader(options, *dataset, std::move(link));
  if (!loader) return fail(loader.error());
  BatchSource& source = *loader->source;
  TrainProgress progress;
  auto monitor = Monitor::start(options.log_path, source, progress);
  if (!monitor) return fail(monitor.error());
  set_signals_blocked(false);

  auto meeting = meet_others(options);
  if (!meeting) return fail(meeting.error());

  Meeting* const others = *meeting ? &**meeting : nullptr;
  if (*address) {
    return run_analysed(options, *loader->pipeline, **dataset, others, hello,
                        **address);
  }
  Trainer trainer(options, source, progress, handle.get(), others, stop);
  const uint64_t cpu_before_ns = trainer_cpu_ns(source);
  const Status trained = trainer.run();
  monitor->reset();
  Summary summary = summarise(trainer, progress, source,
                              penstock_connected(handle.get()) == 1);
  summary.trainer_cpu_s =
      static_cast<double>(trainer_cpu_ns(source) - cpu_before_ns) * 1e-9;
  if (loader->share != nullptr) summary.share = loader->share->share();
  if (!trained) return fail(trained.error());
  if (auto written = write_results(options, summary); !written) {
    return fail(written.error());
  }
  return stop_signal == 0 ? 0 : 128 + stop_signal;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    penstock::TrainOptions options;
    int exit_code = 0;
    if (!penstock::parse_train_options(argc, argv, options, exit_code)) {
      return exit_code;
    }
    penstock::install_signals();
    return penstock::run(options);
  } catch (const std::exception& error) {  // out of memory
    std::fprintf(stderr, "penstock-train: %s\n", error.what());
    return 1;
  }
}
