#include "predictor/job_features.h"

#include <algorithm>

#include "common/units.h"

namespace penstock {
namespace {

bool holds(const std::string& text, const char* part) {
  return text.find(part) != text.npos;
}

}  // namespace

const char* precision_name(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kHalf:
      return "half";
  }
  return "fp32";
}

Result<Precision> parse_precision(std::string_view text) {
  const std::string label = lower_case(text);
  if (holds(label, "tf32")) return Precision::kTf32;
  for (const char* part : {"amp", "16", "8", "mixed"}) {
    if (holds(label, part)) return Precision::kHalf;
  }
  if (label.empty() || label == "fp32" || label == "float") {
    return Precision::kFp32;
  }
  return invalid(
      quoted(text) +
      " is not a precision; allowed: FP32, TF32, AMP, BF16, FP16, FP8");
}

std::string Software::key() const {
  std::string out = framework;
  if (!layout.empty()) out += "+" + layout;
  if (compiled) out += "+compiled";
  if (container) out += "+container";
  if (synthetic) out += "+synthetic";
  if (real_data) out += "+real_data";
  if (no_optimizer) out += "+no_optimizer";
  if (data_parallel) out += "+data_parallel";
  return out;
}

}  // namespace penstock
