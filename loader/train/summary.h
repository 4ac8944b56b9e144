// What a run measured, and the three ways in which it is written. Pure but for
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
  double step_s = 0;         // in steps, summed
  double trainer_cpu_s = 0;  // of everything but the loader threads
  LoaderCounters loader;
  ShareCounters share;     // options.share
  bool connected = false;  // penstockd answered
  std::string ended_by;    // "end", "SIGTERM", "SIGINT"

  double rate_samples_per_s() const;
  double wait_share() const;  // of seconds
  double loader_cpu_s() const;
  double cpu_s_per_sample() const;   // loader CPU per prepared sample
  double bytes_per_sample() const;   // per prepared sample
  double step_s_per_sample() const;  // per consumed sample
  double trainer_cpu_s_per_sample() const;
};

std::string summary_text(const TrainOptions& options, const Summary& summary);
std::string summary_json(const TrainOptions& options, const Summary& summary);

// A profile (predictor/profile.h) in TOML.
// Errors: kInvalidArgument  nothing was prepared or consumed, so there is
//                           nothing to write.
[[nodiscard]] Result<std::string> summary_profile(const TrainOptions& options,
                                                  const Summary& summary);

// Errors: kIo and others, naming the path.
[[nodiscard]] Status write_text_file(const std::string& path,
                                     const std::string& text);

}  // namespace penstock
