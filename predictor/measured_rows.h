// Measured training rates: the table that a prediction at arrival is
// calibrated on and scored with. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "predictor/job_features.h"

namespace penstock {

struct MeasuredRow {
  JobFeatures job;
  double samples_per_s = 0;  // over all GPUs, > 0
  // Equal for rows of one job on one machine that differ in batch only, and
  // in batch, GPUs and nodes only. They group rows and are no features.
  std::string same_but_batch;
  std::string same_but_scale;
};

// Reads CSV with the columns source, model, family, task, gpu, gpus, nodes,
// precision, batch_per_gpu, image_size, params_m, fwd_gflops_per_sample,
// activations_m, samples_per_s_total and note. Empty numbers are not known.
// The software is read from the note (docs/model.md says how); source only
// groups rows.
// Errors: kInvalidArgument  CsvTable's; "NAME:LINE: COLUMN ...": out of range,
//                           more nodes than GPUs; no rows.
[[nodiscard]] Result<std::vector<MeasuredRow>> parse_measured_rows(
    std::string_view text, const std::string& name);

// The software that a note tells.
Software software_of_note(std::string_view note);

}  // namespace penstock
