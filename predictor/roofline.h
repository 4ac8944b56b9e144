// Time of one sample on one GPU as an additive roofline: compute and memory per
// sample, plus a fixed overhead and the pass over the parameters per iteration.
// Derivation: docs/model.md, section "Prediction at arrival". Pure.
#pragma once

#include "predictor/gpu_table.h"
#include "predictor/job_features.h"
#include "predictor/log_sum.h"

namespace penstock {

enum RooflineTerm {
  kCompute = 0,     // seconds per sample, at any batch
  kMemory = 1,      // the same
  kOverhead = 2,    // seconds per iteration, divided by the batch
  kParameters = 3,  // the same
  kRooflineTerms = 4
};

// Source of a sample's costs.
enum class Costs {
  kGiven,   // the job's description
  kListed,  // the built-in table
  kGuessed  // none: typical costs of a task
};

const char* costs_name(Costs costs);  // "given", "listed", "guessed"

// A job with missing values filled in from the tables.
struct DescribedJob {
  JobFeatures job;
  GpuType gpu;
  Costs costs = Costs::kGiven;
  // Samples per GPU and iteration, > 0. More than the job's batch if one item
  // holds several samples, as a sentence holds tokens.
  double batch = 0;
};

// gpu: for a type that the table lacks; nullptr: look up job.gpu.
DescribedJob describe(const JobFeatures& job, const GpuType* gpu = nullptr);

const LogSumForm& roofline_form();
LogSumInput roofline_input(const DescribedJob& described);

// Level of the effect shared by rows of the same model and software.
std::string model_level(const DescribedJob& described);

}  // namespace penstock
