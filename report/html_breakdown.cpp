// The breakdown of wall time as one bar and a table of its parts.
#include <fmt/format.h>

#include <vector>

#include "report/html_chart.h"
#include "report/text.h"

namespace penstock {
namespace {

constexpr double kBarHeight = 28;
constexpr int kUnits = 1000;  // tenths of a per cent
// Narrower parts have no room for their figure on a phone.
constexpr int kLabelledUnits = 90;

struct Part {
  std::string label;
  const char* style;
  TimePart time;
  int units;
};

std::vector<Part> parts_of(const Breakdown& breakdown) {
  const auto units = rounded_shares(breakdown, kUnits);
  std::vector<Part> parts;
  for (const WallPartNames& it : kWallParts) {
    const std::string label = is_stall(it.part)
                                  ? fmt::format("{} ({})", it.text, it.awaited)
                                  : it.text;
    parts.push_back(
        {label, it.cause, breakdown.parts[it.part], units[size_t(it.part)]});
  }
  parts.push_back({"unattributed",
                   "unattributed",
                   {breakdown.unattributed_s, "what is left"},
                   units.back()});
  return parts;
}

std::string units_text(int units) {
  return fmt::format("{:.1f}%", units / 10.0);
}

void draw_bar(Markup& page, const std::vector<Part>& parts,
              const std::string& description) {
  page.open("svg", {{"class", "bar"},
                    {"role", "img"},
                    {"aria-labelledby", "bar-title bar-text"},
                    {"height", "48"}});
  page.element("title", {{"id", "bar-title"}}, "Shares of the wall time");
  page.element("desc", {{"id", "bar-text"}}, description);
  int before = 0;
  for (const Part& part : parts) {
    if (part.units == 0) continue;
    page.leaf("rect", {{"class", std::string("area ") + part.style},
                       {"x", percent(before / double(kUnits))},
                       {"width", percent(part.units / double(kUnits))},
                       {"height", coordinate(kBarHeight)}});
    if (part.units >= kLabelledUnits) {
      const double middle = (before + part.units / 2.0) / kUnits;
      draw_text(page, "time", percent(middle), 43, units_text(part.units));
    }
    before += part.units;
  }
  page.close();
}

std::string description_of(const std::vector<Part>& parts) {
  std::string out;
  for (const Part& part : parts) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", part.label,
                       part.time.seconds ? units_text(part.units) : "unknown");
  }
  return out + ".";
}

void pressure_text(Markup& page, const JobReport& report) {
  const PressureFigures& pressure = report.pressure;
  if (!pressure.cpu_s && !pressure.io_s) return;
  const double wall_s = report.breakdown.wall_s;
  page.element(
      "p",
      fmt::format("Beside this: some thread of the job was held up by "
                  "want of CPU for {} of the wall time and by I/O for {} "
                  "({}).",
                  share_text(ratio(pressure.cpu_s, wall_s)),
                  share_text(ratio(pressure.io_s, wall_s)), pressure.method));
}

}  // namespace

void breakdown_bar(Markup& page, const JobReport& report) {
  const Breakdown& breakdown = report.breakdown;
  if (!(breakdown.wall_s > 0)) {
    page.element("p", "Nothing was measured.");
    return;
  }
  const std::vector<Part> parts = parts_of(breakdown);
  open_figure(page, "Wall time, averaged over the ranks: " +
                        duration_text(breakdown.wall_s));
  std::vector<KeyEntry> key;
  for (const Part& part : parts) {
    if (part.time.seconds) key.push_back({part.label, part.style, true});
  }
  draw_key(page, key);
  draw_bar(page, parts, description_of(parts));
  std::vector<Cells> rows;
  for (const Part& part : parts) {
    const bool known = part.time.seconds.has_value();
    rows.push_back({part.label, known ? units_text(part.units) : "-",
                    known ? duration_text(*part.time.seconds) : "-",
                    part.time.method.empty() ? "not known" : part.time.method});
  }
  draw_table(page, "Parts of the wall time; together 100%",
             {"", "share", "time", "obtained from"}, rows, 4);
  page.close();
  pressure_text(page, report);
}

}  // namespace penstock
