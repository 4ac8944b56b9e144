// The sections of the HTML report and their shared parts. Internal to report/.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "report/chart.h"
#include "report/markup.h"
#include "report/report.h"
#include "report/timeline.h"

namespace penstock {

// A mark on the charts: one or several grant changes.
struct Mark {
  Group group;  // of JobReport::changes, with its place on the axis
  int number = 0;
};

// The time axis shared by a page's charts.
struct DrawnCourse {
  double start_unix_s = 0;
  double duration_s = 0;
  std::vector<TimelinePoint> drawn;
  std::vector<TimelinePoint> told;  // for tables and tooltips
  std::vector<Mark> marks;

  double share_of(double unix_s) const;  // 0 to 1
};
// Limits the points to kDrawnPoints and kToldPoints, divided by `coarser`, a
// power of 2 up to 8.
DrawnCourse course_of(const JobReport& report, size_t coarser);

// html_tables.cpp
using Cells = std::vector<std::string>;
// A table in its own scrolling box; the first cell of a row is its heading.
// caption: content of the table. words: column that holds words instead of
// figures, counted from 1: 0 for none, 2 to 4.
void draw_table(Markup& page, const std::string& caption, const Cells& heads,
                const std::vector<Cells>& rows, int words = 0);
// A chart's figures, as a table that is folded until it is opened.
void folded_table(Markup& page, const std::string& caption, const Cells& heads,
                  const std::vector<Cells>& rows);
void facts_section(Markup& page, const JobReport& report);
void launch_section(Markup& page, const JobReport& report);
void advice_section(Markup& page, const JobReport& report);
void nodes_table(Markup& page, const JobReport& report);  // if it has several
void cores_table(Markup& page, const JobReport& report);
// Adds nothing if Penstock acted for the job.
void would_have_section(Markup& page, const JobReport& report);
void bandwidth_table(Markup& page, const BandwidthFigures& bandwidth);
void rates_table(Markup& page, const JobReport& report);
void quality_section(Markup& page, const JobReport& report);

// html_breakdown.cpp
void breakdown_bar(Markup& page, const JobReport& report);

// html_changes.cpp
void changes_table(Markup& page, const JobReport& report,
                   const DrawnCourse& course);

// html_courses.cpp: each writes a note if nothing is known
void breakdown_course(Markup& page, const DrawnCourse& course);
void cores_course(Markup& page, const JobReport& report,
                  const DrawnCourse& course);
void bandwidth_course(Markup& page, const JobReport& report,
                      const DrawnCourse& course);
void rates_course(Markup& page, const JobReport& report,
                  const DrawnCourse& course);

// html_what_if.cpp
void what_if_section(Markup& page, const JobReport& report);

}  // namespace penstock
