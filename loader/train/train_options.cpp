#include "loader/train/train_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "common/options.h"
#include "common/units.h"
#include "loader/cache/cache_folder.h"
#include "loader/data/rule_options.h"
#include "loader/staging/stage_file.h"

namespace penstock {
namespace {

const char* const kDescription =
    "Loads pictures or records like a training job and passes each batch to an "
    "emulated accelerator, a timed wait per step. It trains no model. Files, "
    "decoding and threads are real.";

void add_record_options(CLI::App& app, TrainOptions& options) {
  const auto layout = [&options]() -> RecordLayout& {
    if (!options.records) options.records.emplace();
    return *options.records;
  };
  auto* record =
      app.add_option_function<uint64_t>(
             "--record-bytes",
             [layout](uint64_t bytes) { layout().record_bytes = bytes; },
             "Bytes of a record, including its label")
          ->option_text("N");
  app.add_option_function<uint64_t>(
         "--label-bytes",
         [layout](uint64_t bytes) { layout().label_bytes = bytes; },
         "Bytes of the label at the start of a record")
      ->needs(record)
      ->option_text("N [0]");
  app.add_option_function<uint64_t>(
         "--header-bytes",
         [layout](uint64_t bytes) { layout().header_bytes = bytes; },
         "Bytes before the first record")
      ->needs(record)
      ->option_text("N [0]");
}

void add_data_options(CLI::App& app, TrainOptions& options) {
  app.add_option("--data", options.data,
                 "Folder of pictures, LMDB database, tar shards, or a file of "
                 "records")
      ->required()
      ->option_text("PATH...");
  add_record_options(app, options);
  add_rule_options(app, options.rules);
  app.add_option("--batch", options.batch, "Samples per step")
      ->check(CLI::Range(1, 65536))
      ->option_text("N [32]");
  app.add_option("--crop", options.crop, "Side of a prepared sample, pixels")
      ->check(CLI::Range(1, 4096))
      ->option_text("N [224]");
  app.add_option("--seed", options.seed, "Seed of the order, crops and flips")
      ->option_text("N [0]");
  app.add_flag("--direct", options.direct, "Read past the page cache");
}

// Converts an error to CLI11's exception for a wrong command line.
template <class T>
T value_of(const std::string& option, Result<T> found) {
  if (!found) throw CLI::ValidationError(option, found.error().message);
  return *std::move(found);
}

uint64_t cache_bytes(const std::string& text) {
  return text == "auto" ? 0 : value_of("--cache", parse_size_bytes(text));
}

void add_cache_options(CLI::App& app, TrainOptions& options) {
  // CLI11 calls this before it checks needs(), so any cache option may be the
  // first.
  const auto wanted = [&options]() -> SampleCacheOptions& {
    if (!options.cache) options.cache.emplace();
    return *options.cache;
  };
  auto* cache = app.add_option_function<std::string>(
      "--cache",
      [wanted](const std::string& text) {
        wanted().most_bytes = cache_bytes(text);
      },
      "Bytes of samples that this job keeps in the node's cache; auto: half of "
      "the memory that its cgroup has left");
  cache->option_text("SIZE|auto");
  app.add_option_function<std::string>(
         "--cache-name",
         [wanted](const std::string& name) {
           (void)value_of("--cache-name", cache_file_name(name));
           wanted().name = name;
         },
         "Name of the cache [one per data set]")
      ->needs(cache)
      ->option_text("NAME");
  app.add_option_function<uint64_t>(
         "--cache-keep",
         [wanted](uint64_t keep_s) { wanted().keep_s = keep_s; },
         "Keep the cache for this many seconds after its last job")
      ->needs(cache)
      ->check(CLI::Range(uint64_t{0}, kLongestCacheKeep_s))
      ->option_text("S [0]");
  app.add_option_function<std::string>(
         "--cache-group",
         [wanted](const std::string& group) {
           wanted().group = value_of("--cache-group", cache_group(group));
         },
         "User group whose members share the cache, name or number")
      ->needs(cache)
      ->option_text("GROUP");
  app.add_option(
         "--cache-peers", options.cache_peers,
         "Nodes that each cache a part of the data; auto: the job's nodes")
      ->needs(cache)
      ->option_text("auto|NODES");
}

void add_share_options(CLI::App& app, TrainOptions& options) {
  app.add_option_function<std::string>(
         option_flag(kOptionShare),
         [&options](const std::string& name) {
           (void)value_of(option_flag(kOptionShare), stage_file_name(name));
           options.share = name;
         },
         "Name of a share group: this user's jobs on the node with the same "
         "NAME prepare each batch once")
      ->envname(option_spec(kOptionShare).variable)
      ->option_text("NAME");
  app.add_option("--share-jobs", options.share_jobs,
                 "Jobs to wait for before the share group's first batch, for "
                 "at most 60 s")
      ->check(CLI::Range(1, 64))
      ->option_text("N [1]");
  app.add_option(
         "--share-window", options.share_window,
         "Maximum number of batches between the fastest job and the slowest")
      ->check(CLI::Range(2, 512))
      ->option_text("N [8]");
}

// A share delivers only whole epochs, so --samples and --replay are refused.
void check_share(const TrainOptions& options) {
  if (options.share.empty()) return;
  if (options.samples > 0) {
    throw CLI::ValidationError(
        option_flag(kOptionShare),
        options.share +
            " gives whole epochs; use --epochs or --duration "
            "instead of --samples");
  }
  if (options.replay) {
    throw CLI::ValidationError(
        option_flag(kOptionShare),
        options.share + " has no effect with --replay; remove one of them");
  }
}

void add_step_options(CLI::App& app, TrainOptions& options) {
  const std::map<std::string, WaitMode> waits{{"sleep", WaitMode::kSleep},
                                              {"spin", WaitMode::kSpin}};
  app.add_option("--accelerator-s-per-sample", options.accelerator_s_per_sample,
                 "Emulated accelerator: seconds per sample")
      ->check(CLI::Range(0.0, 60.0))
      ->option_text("S [0]");
  app.add_option("--wait", options.wait, "How the trainer waits for a step")
      ->transform(CLI::CheckedTransformer(waits))
      ->option_text("sleep|spin");
  app.add_option("--trainer-cpu", options.trainer_cpu_ms,
                 "CPU time that the trainer uses per step, ms")
      ->check(CLI::Range(0.0, 60000.0))
      ->option_text("MS [0]");
  app.add_option("--meet", options.meet,
                 "Ranks (SLURM_PROCID of SLURM_NTASKS) wait for each other "
                 "after each step; rank 0 listens there")
      ->option_text("ADDRESS:PORT");
  app.add_flag("--replay", options.replay,
               "Prepare one batch and replay it: measures the ceiling");
}

void add_thread_options(CLI::App& app, TrainOptions& options) {
  app.add_option_function<std::string>(
         "--threads",
         [&options](const std::string& text) {
           if (text == "auto") return;
           auto threads = parse_uint(text, 1, 4096);
           if (!threads) {
             throw CLI::ValidationError("--threads",
                                        text + "; allowed: 1 to 4096, or auto");
           }
           options.threads = *threads;
         },
         "Loader threads; auto: the task's CPUs, then the hint")
      ->option_text("N|auto [auto]");
  app.add_option("--threads-min", options.threads_min, "Minimum with auto")
      ->check(CLI::Range(1, 4096))
      ->option_text("N [1]");
  app.add_option("--threads-max", options.threads_max, "Maximum with auto")
      ->check(CLI::Range(1, 4096))
      ->option_text("N [CPUs]");
}

void add_end_options(CLI::App& app, TrainOptions& options) {
  auto* end = app.add_option_group("end", "Duration (default: --epochs 1)");
  end->add_option("--duration", options.duration_s, "Seconds")
      ->check(CLI::Range(0.1, 1e7))
      ->option_text("S");
  end->add_option("--samples", options.samples,
                  "Samples, including broken ones")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 48))
      ->option_text("N");
  end->add_option("--epochs", options.epochs, "Passes over the data")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 16))
      ->option_text("N");
  end->require_option(0, 1);
}

void add_output_options(CLI::App& app, TrainOptions& options) {
  app.add_option("--log", options.log_path, "File for a JSON line every 0.5 s")
      ->option_text("FILE");
  app.add_option("--json", options.json_path, "File for a summary as JSON")
      ->option_text("FILE");
  app.add_option("--write-profile", options.profile_path,
                 "File for a profile for " + option_flag(kOptionModel) +
                     " measured by this run")
      ->option_text("FILE");
}

}  // namespace

bool parse_train_options(int argc, char** argv, TrainOptions& options,
                         int& exit_code) {
  CLI::App app(kDescription, "penstock-train");
  add_data_options(app, options);
  add_cache_options(app, options);
  add_share_options(app, options);
  add_step_options(app, options);
  add_thread_options(app, options);
  add_end_options(app, options);
  add_output_options(app, options);
  try {
    app.parse(argc, argv);
    check_share(options);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? 0 : 2;
    return false;
  }
  if (options.duration_s == 0 && options.samples == 0 && options.epochs == 0) {
    options.epochs = 1;
  }
  return true;
}

}  // namespace penstock
