// Time of an iteration on several GPUs, from the time on one. Adds the exchange
// of gradients (cost model: a ring) and the wait for the slowest GPU. The
// overlap with the backward pass and the links' effective bandwidth are
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

// Time of an iteration with the learned parameters, in seconds.
double several_gpus_s(const DescribedJob& described, double one_gpu_iteration_s,
                      const LogSumParameters& learned);

}  // namespace penstock
