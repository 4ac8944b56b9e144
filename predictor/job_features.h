// What is known of a job when it arrives: the input of the prediction at
// arrival. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

// How the trainer computes. kHalf: half precision on tensor units where the
// GPU has them, whether by autocast, as FP16, BF16 or FP8.
enum class Precision { kFp32, kTf32, kHalf };
const char* precision_name(Precision precision);

// Reads "FP32", "TF32", "FP32orTF32", "AMP", "AMP_BF16", "FP16" and the like:
// what holds TF32 is that, what holds AMP, 16, 8 or MIXED is kHalf, FP32 and
// an empty text are kFp32.
// Errors: kInvalidArgument  anything else.
[[nodiscard]] Result<Precision> parse_precision(std::string_view text);

// The software under the trainer, as far as it is known. All of it may be
// left as it is.
struct Software {
  std::string framework = "pytorch";  // or tensorflow, mxnet, paddle
  std::string layout;                 // nchw, nhwc; "": not known
  bool compiled = false;              // XLA or another graph compiler
  bool container = false;             // the vendor's tuned container
  bool synthetic = false;             // batches that stay on the GPU
  bool real_data = false;             // a loader runs beside the trainer
  bool no_optimizer = false;          // forward and backward only
  bool data_parallel = false;  // one process feeds all GPUs (DataParallel)

  // The parts that differ from the defaults: "pytorch+nhwc+synthetic".
  std::string key() const;
};

// Numbers that are 0 are not known.
struct JobFeatures {
  std::string model;
  std::string family;  // "": that of the built-in table, or the model's name
  std::string task;    // "image_classification", ...; "": not known
  std::string unit;    // what a sample is: "images", "tokens", ...; "": same
  std::string gpu;     // a name of the GPU table, or another one
  int gpus = 1;        // over all nodes
  int nodes = 1;
  Precision precision = Precision::kFp32;
  double batch_per_gpu = 0;
  double params_m = 0;               // millions
  double fwd_gflops_per_sample = 0;  // 2 x multiply-adds, forward
  double activations_m = 0;          // millions of layer outputs, forward
  double network_gbs = 0;            // between nodes, GB/s in one direction
  Software software;
};

}  // namespace penstock
