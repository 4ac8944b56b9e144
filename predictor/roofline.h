// The time of one sample on one GPU as an additive roofline: compute, memory,
// and per iteration a fixed overhead and the pass over the parameters.
// docs/model.md, section "Prediction at arrival", derives it. Pure.
#pragma once

#include "predictor/gpu_table.h"
#include "predictor/job_features.h"
#include "predictor/log_sum.h"

namespace penstock {

enum RooflineTerm {
  kCompute = 0,     // seconds per sample, whatever the batch
  kMemory = 1,      // likewise
  kOverhead = 2,    // seconds per iteration, divided by the batch
  kParameters = 3,  // likewise
  kRooflineTerms = 4
};

// Where the costs of a sample come from.
enum class Costs {
  kGiven,   // with the job
  kListed,  // the built-in table's
  kGuessed  // nobody's: a task's typical ones
};

// The job with what it leaves open filled in from the tables.
struct DescribedJob {
  JobFeatures job;
  GpuType gpu;
  Costs costs = Costs::kGiven;
  // Samples per GPU and iteration, > 0. More than the job's batch where one of
  // its items holds several samples, as a sentence holds tokens.
  double batch = 0;
};

// gpu: a type that the table does not have; nullptr: look it up.
DescribedJob describe(const JobFeatures& job, const GpuType* gpu = nullptr);

const LogSumForm& roofline_form();
LogSumInput roofline_input(const DescribedJob& described);

// The level that rows of one model on one software share.
std::string model_level(const DescribedJob& described);

}  // namespace penstock
