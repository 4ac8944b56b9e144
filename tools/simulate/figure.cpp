#include "tools/simulate/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/svg.h"

namespace penstock::simulate {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 260;
constexpr double kLeft = 50;
constexpr double kTop = 34;
// No screen shows more columns.
constexpr size_t kColumns = 600;

struct Column {
  double held = 0;
  double busy = 0;
};

// Time averages of the samples over `kColumns` equal spans.
std::vector<Column> columns_of(const Outcome& outcome, double begin_s,
                               double end_s) {
  std::vector<Column> columns(kColumns);
  const double width_s = (end_s - begin_s) / kColumns;
  for (size_t i = 0; i < outcome.samples.size(); ++i) {
    const Sample& sample = outcome.samples[i];
    const bool is_last = i + 1 == outcome.samples.size();
    const double until_s = is_last ? end_s : outcome.samples[i + 1].time_s;
    double from_s = sample.time_s;
    while (from_s < until_s) {
      const size_t column = std::min(
          kColumns - 1, static_cast<size_t>((from_s - begin_s) / width_s));
      const double edge_s = begin_s + width_s * static_cast<double>(column + 1);
      const double to_s =
          column + 1 == kColumns ? until_s : std::min(until_s, edge_s);
      const double part = std::max(0.0, to_s - from_s) / width_s;
      columns[column].held += part * sample.gpus_held;
      columns[column].busy += part * sample.gpus_busy;
      if (to_s <= from_s) break;
      from_s = to_s;
    }
  }
  return columns;
}

std::string area(const std::vector<Column>& columns, double Column::*value,
                 const char* colour) {
  std::string path = fmt::format("M{:.1f} {:.1f}", kLeft, kTop + kHeight);
  for (size_t i = 0; i < columns.size(); ++i) {
    const double share = std::min(1.0, columns[i].*value);
    const double y = kTop + kHeight * (1 - share);
    path += fmt::format("V{:.1f}H{:.1f}", y,
                        kLeft + kWidth * static_cast<double>(i + 1) /
                                    static_cast<double>(columns.size()));
  }
  return fmt::format("<path d=\"{}V{:.1f}Z\" fill=\"{}\"/>\n", path,
                     kTop + kHeight, colour);
}

std::string axes(double hours) {
  std::string out;
  for (int percent = 0; percent <= 100; percent += 25) {
    const double y = kTop + kHeight * (1 - percent / 100.0);
    out += svg_text(kLeft - 6, y + 4, "end", fmt::format("{}%", percent));
    out += fmt::format(
        "<path d=\"M{:.1f} {:.1f}h{:.1f}\" stroke=\"#ddd\" fill=\"none\"/>\n",
        kLeft, y, kWidth);
  }
  for (int i = 0; i <= 4; ++i) {
    out += svg_text(kLeft + kWidth * i / 4, kTop + kHeight + 18, "middle",
                    fmt::format("{:.3g} h", hours * i / 4));
  }
  return out;
}

}  // namespace

std::string utilisation_svg(const Outcome& outcome, const std::string& title) {
  const double begin_s = outcome.samples.front().time_s;
  double end_s = begin_s;
  for (const JobOutcome& job : outcome.jobs) {
    end_s = std::max(end_s, job.end_s);
  }
  const std::vector<Column> columns = columns_of(outcome, begin_s, end_s);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kLeft + kWidth + 30, kTop + kHeight + 48);
  out += svg_text(kLeft, 20, "start", title);
  out += axes((end_s - begin_s) / 3600);
  out += area(columns, &Column::held, "#c9d7e8");
  out += area(columns, &Column::busy, "#3b6ea5");
  const double legend = kTop + kHeight + 36;
  out += svg_text(kLeft, legend, "start",
                  "GPUs: dark computing, light held and waiting for data");
  return out + "</svg>\n";
}

}  // namespace penstock::simulate
