// Results of a run, and their three output formats. Pure, except
// write_text_file().
#pragma once

#include <string>

#include "common/result.h"
#include "loader/staging/shared_preparer.h"
#include "loader/train/progress.h"
#include "loader/train/train_options.h"
#include "penstock/loader/batch_source.h"

namespace penstock {

struct Summary {
  double seconds = 0;
  uint64_t samples = 0;
  uint64_t steps = 0;
  double wait_s = 0;
  double step_s = 0;         // sum of the steps' durations
  double trainer_cpu_s = 0;  // of all threads but the loader's
  LoaderCounters loader;
  ShareCounters share;     // with options.share
  bool connected = false;  // to penstockd
  std::string ended_by;    // "end", "SIGTERM", "SIGINT"

  double rate_samples_per_s() const;
  double wait_share() const;  // wait_s / seconds
  double loader_cpu_s() const;
  double cpu_s_per_sample() const;   // loader CPU per prepared sample
  double bytes_per_sample() const;   // per prepared sample
  double step_s_per_sample() const;  // per consumed sample
  double trainer_cpu_s_per_sample() const;
};

std::string summary_text(const TrainOptions& options, const Summary& summary);
std::string summary_json(const TrainOptions& options, const Summary& summary);

// A profile (predictor/profile.h) in TOML.
// Errors: kInvalidArgument  no sample was prepared or consumed
[[nodiscard]] Result<std::string> summary_profile(const TrainOptions& options,
                                                  const Summary& summary);

// Errors: kIo and others; they name the path.
[[nodiscard]] Status write_text_file(const std::string& path,
                                     const std::string& text);

}  // namespace penstock
