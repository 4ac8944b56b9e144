#include "predictor/job_features.h"

#include <algorithm>

#include "common/units.h"

namespace penstock {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

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
  const std::string label = upper(text);
  if (holds(label, "TF32")) return Precision::kTf32;
  for (const char* part : {"AMP", "16", "8", "MIXED"}) {
    if (holds(label, part)) return Precision::kHalf;
  }
  if (label.empty() || label == "FP32" || label == "FLOAT") {
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
