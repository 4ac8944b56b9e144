// The time of one iteration on several GPUs, from the time on one: gradients
// are exchanged and everyone waits for the slowest. The cost model is that of
// a ring; what overlaps with the backward pass, and what links really give, is
// learned. docs/model.md, section "Prediction at arrival". Pure.
#pragma once

#include "predictor/log_sum.h"
#include "predictor/roofline.h"

namespace penstock {

const LogSumForm& exchange_form();

// one_gpu_iteration_s: an iteration of one GPU with the same batch per GPU.
// REQUIRES: one_gpu_iteration_s > 0, more than one GPU.
LogSumInput exchange_input(const DescribedJob& described,
                           double one_gpu_iteration_s);

// The time of an iteration with what was learned, in seconds.
double several_gpus_s(const DescribedJob& described, double one_gpu_iteration_s,
                      const LogSumParameters& learned);

}  // namespace penstock
