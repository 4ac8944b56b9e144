// An analysis as text and as JSON (docs/man/penstock-analyze.1). Pure.
#pragma once

#include <string>

#include "report/render.h"
#include "tools/analyze/findings.h"

namespace penstock {

// Outcome of the measurements.
struct AnalysisEnding {
  double seconds = 0;    // duration of the measurements
  bool narrow = false;   // every figure is within `aim`; else the time was up
  double aim = 0.03;     // relative width
  double widest = 0;     // of all figures; infinite: one has too few visits
  std::string emulated;  // emulated parts; "": none known
};

std::string render_text(const Findings& findings, const AnalysisEnding& ending,
                        const TextStyle& style);
// kind "analysis"; unknown figures are null.
std::string to_json(const Findings& findings, const AnalysisEnding& ending);

}  // namespace penstock
