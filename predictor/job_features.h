// Description of an arriving job: the input of the prediction at arrival. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

// Precision of the trainer's arithmetic. kHalf: autocast, FP16, BF16 or FP8; on
// tensor units if the GPU has them.
enum class Precision { kFp32, kTf32, kHalf };
const char* precision_name(Precision precision);

// Parses labels like "FP32", "TF32", "FP32orTF32", "AMP", "AMP_BF16", "FP16",
// in any case. A label with TF32 gives kTf32; one with AMP, 16, 8 or MIXED
// gives kHalf; FP32, FLOAT and the empty text give kFp32.
// Errors: kInvalidArgument  any other label.
[[nodiscard]] Result<Precision> parse_precision(std::string_view text);

// The trainer's software, as far as known. The defaults are valid.
struct Software {
  std::string framework = "pytorch";  // or tensorflow, mxnet, paddle
  std::string layout;                 // nchw, nhwc; "": unknown
  bool compiled = false;              // XLA or another graph compiler
  bool container = false;             // the vendor's tuned container
  bool synthetic = false;             // batches that stay on the GPU
  bool real_data = false;             // a loader runs beside the trainer
  bool no_optimizer = false;          // forward and backward only
  bool data_parallel = false;  // one process feeds all GPUs (DataParallel)

  // The framework and what differs from the defaults:
  // "pytorch+nhwc+synthetic".
  std::string key() const;
};

// A number that is 0 is unknown.
struct JobFeatures {
  std::string model;
  std::string family;  // "": from the built-in table, else the model's name
  std::string task;    // "image_classification", ...; "": from the table
  std::string unit;    // of a sample: "images", "tokens", ...; "": the table's
  std::string gpu;     // from the GPU table, or another name
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
