// An analysis as text for people and as JSON (docs/man/penstock-analyze.1).
// Pure.
#pragma once

#include <string>

#include "report/render.h"
#include "tools/analyze/findings.h"

namespace penstock {

// How the measuring ended.
struct AnalysisEnding {
  double seconds = 0;    // that was measured for
  bool narrow = false;   // every figure is within `aim`; else the time was up
  double aim = 0.03;     // relative width
  double widest = 0;     // of all figures; infinite: one was seen too seldom
  std::string emulated;  // what was; "": nothing that is known of
};

std::string render_text(const Findings& findings, const AnalysisEnding& ending,
                        const TextStyle& style);
// kind "analysis"; figures that are not known are null.
std::string to_json(const Findings& findings, const AnalysisEnding& ending);

}  // namespace penstock
