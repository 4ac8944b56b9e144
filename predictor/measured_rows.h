// Measured training rates: the table for calibrating and evaluating the
// prediction at arrival. Pure.
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
  // Group keys, not features. Equal for rows of one job on one machine that
  // differ only in batch (same_but_batch), or only in batch, GPUs and nodes.
  std::string same_but_batch;
  std::string same_but_scale;
};

// Reads CSV with the columns source, model, family, task, gpu, gpus, nodes,
// precision, batch_per_gpu, image_size, params_m, fwd_gflops_per_sample,
// activations_m, samples_per_s_total and note. Empty numbers are unknown. The
// software is derived from the note (docs/model.md); source only groups rows.
// Errors: kInvalidArgument  CsvTable's; "NAME:LINE: COLUMN ..." for a value out
//                           of range or more nodes than GPUs; no rows.
[[nodiscard]] Result<std::vector<MeasuredRow>> parse_measured_rows(
    std::string_view text, const std::string& name);

// Derives the software from a note.
Software software_of_note(std::string_view note);

}  // namespace penstock
