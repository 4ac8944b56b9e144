// Measured rows for tests: the committed sample, and synthetic ones with known
// parameters.
#pragma once

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "predictor/exchange.h"
#include "predictor/measured_rows.h"
#include "tests/unit/catch.h"

namespace penstock {

inline std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A synthetic row whose iteration takes fixed_s + batch x sample_s on one GPU
// and 1.5 times that on several.
inline MeasuredRow made_row(const std::string& family, double batch, int gpus,
                            double fixed_s, double sample_s) {
  MeasuredRow row;
  row.job.model = family + "-net";
  row.job.family = family;
  row.job.task = "image_classification";
  row.job.unit = "images";
  row.job.gpu = "T4";
  row.job.gpus = gpus;
  row.job.batch_per_gpu = batch;
  row.job.params_m = 25;
  row.job.fwd_gflops_per_sample = 1000 * sample_s;
  row.job.activations_m = 2000 * sample_s;
  const double time = (fixed_s + batch * sample_s) * (gpus > 1 ? 1.5 : 1);
  row.samples_per_s = batch * gpus / time;
  row.same_but_scale = family;
  row.same_but_batch = family + "/" + std::to_string(gpus);
  return row;
}

// Six families on one and on four GPUs with four batches each.
inline std::vector<MeasuredRow> made_rows() {
  std::vector<MeasuredRow> rows;
  double size = 1;
  for (const char* family : {"a", "b", "c", "d", "e", "f"}) {
    for (double batch : {8, 16, 32, 64}) {
      for (int gpus : {1, 4}) {
        rows.push_back(made_row(family, batch, gpus, 0.01, 0.002 * size));
      }
    }
    size *= 1.5;
  }
  return rows;
}

}  // namespace penstock
