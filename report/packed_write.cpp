#include "report/packed.h"

#include <zlib.h>

#include "report/json.h"

namespace penstock {
namespace {

std::string compressed(const std::string& text) {
  uLongf size = ::compressBound(uLong(text.size()));
  std::string out(size, '\0');
  const int done = ::compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(text.data()),
                               uLong(text.size()), Z_BEST_COMPRESSION);
  out.resize(done == Z_OK ? size : 0);
  return out;
}

}  // namespace

Result<std::string> pack_report(JobReport report) {
  for (size_t points = kPackedPoints;; points /= 2) {
    report.timeline = points == 0 ? std::vector<TimelinePoint>()
                                  : coarsened(report.timeline, points);
    std::string packed = compressed(to_json(report));
    if (!packed.empty() && packed.size() <= kMaxPackedBytes) return packed;
    if (points == 0) {
      return Error{Code::kLimit, 0, "the report is too large to be sent"};
    }
  }
}

}  // namespace penstock
