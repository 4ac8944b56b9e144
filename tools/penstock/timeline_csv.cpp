#include "tools/penstock/timeline_csv.h"

#include "tools/penstock/csv.h"

namespace penstock {

std::string timeline_csv(const std::vector<TimelinePoint>& points) {
  std::vector<std::string> names = {"begin_unix_s", "duration_s"};
  for (const TimelineColumn& it : kTimelineColumns) names.emplace_back(it.name);
  std::string out = csv_record(names);
  for (const TimelinePoint& point : points) {
    std::vector<std::string> fields = {csv_number(point.begin_unix_s),
                                       csv_number(point.duration_s)};
    for (const TimelineColumn& it : kTimelineColumns) {
      fields.push_back(csv_number(it.of(point)));
    }
    out += csv_record(fields);
  }
  return out;
}

}  // namespace penstock
