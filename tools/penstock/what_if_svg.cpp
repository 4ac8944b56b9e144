// `penstock what-if` as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/units.h"
#include "report/markup.h"
#include "report/svg.h"
#include "report/text.h"
#include "tools/penstock/what_if_plane.h"
#include "tools/penstock/what_if_study.h"

namespace penstock {
namespace {

constexpr double kPanelWidth = 420;
constexpr double kPanelHeight = 384;
constexpr double kHead = 76;  // height above the panels
constexpr int kXTicks = 4;    // few enough for the widest labels
constexpr size_t kCaptionChars = 52;

// Contrast of every text and line colour to the background: at least 4.5, in
// both schemes.
const char* const kStyle =
    "<style>\n"
    "text{fill:#1f2328}.back{fill:#fff}.grid{stroke:#d0d7de;fill:none}\n"
    ".rate{stroke:#0550ae;stroke-width:2;fill:none}\n"
    ".beyond{stroke-dasharray:2 4}.band{fill:#0550ae;fill-opacity:.15}\n"
    ".ceiling{stroke:#953800;stroke-dasharray:8 4;fill:none}\n"
    ".enough{stroke:#116329;stroke-dasharray:4 3;fill:none}\n"
    ".here{fill:#a40e26}.name{font-weight:bold}.title{font-size:16px}\n"
    "@media(prefers-color-scheme:dark){\n"
    "text{fill:#e6edf3}.back{fill:#0d1117}.grid{stroke:#3d444d}\n"
    ".rate{stroke:#79c0ff}.band{fill:#79c0ff}.ceiling{stroke:#ffa657}\n"
    ".enough{stroke:#7ee787}.here{fill:#ff7b72}}\n"
    "</style>\n";

std::string path(const std::string& data, const char* css) {
  return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", css, data);
}

std::string axes(const StudyTable& table, const Plane& plane) {
  std::string out = svg_text(kLeft - 40, kTop - 14, "start", "samples/s");
  out += svg_text(kLeft + kWidth / 2, kTop + kHeight + 36, "middle",
                  words_of(table.axis).unit);
  const double y_step = round_step(Axis::kCores, plane.top(), kYTicks);
  for (int i = 0; i * y_step <= plane.top() * (1 + 1e-9); ++i) {
    const double y = plane.y(i * y_step);
    out += path(fmt::format("M{:.1f} {:.1f}h{:.1f}", kLeft, y, kWidth), "grid");
    out += svg_text(kLeft - 6, y + 4, "end",
                    format_number(std::round(i * y_step * 1e6) / 1e6));
  }
  const double x_step =
      round_step(table.axis, plane.high() - plane.low(), kXTicks);
  const double first = std::ceil(plane.low() / x_step * (1 - 1e-9));
  for (double i = first; i * x_step <= plane.high() * (1 + 1e-9); ++i) {
    const double x = plane.x(i * x_step);
    out += path(fmt::format("M{:.1f} {:.1f}v5", x, kTop + kHeight), "grid");
    out += svg_text(x, kTop + kHeight + 19, "middle",
                    amount_text(table.axis, i * x_step));
  }
  return out;
}

std::string point(const StudyRow& row, const Plane& plane, double rate) {
  return fmt::format("{:.1f} {:.1f}", plane.x(row.amount), plane.y(rate));
}

// The interval as an area between its low and high ends.
std::string band(const StudyTable& table, const Plane& plane) {
  std::string data;
  for (const StudyRow& row : table.curve)
    data += (data.empty() ? 'M' : 'L') +
            point(row, plane, row.point.samples_per_s.high);
  for (auto row = table.curve.rbegin(); row != table.curve.rend(); ++row)
    data += 'L' + point(*row, plane, row->point.samples_per_s.low);
  return path(data + "Z", "band");
}

std::string ceiling_line(const StudyTable& table, const Plane& plane) {
  std::string data;
  for (const StudyRow& row : table.curve)
    data += (data.empty() ? 'M' : 'L') +
            point(row, plane, row.point.ceiling_samples_per_s);
  return path(data, "ceiling");
}

// One path per run of measured or extrapolated points; adjacent runs share a
// point.
std::string rate_line(const StudyTable& table, const Plane& plane) {
  std::string out;
  size_t begin = 0;
  while (begin + 1 < table.curve.size()) {
    const bool beyond = table.curve[begin + 1].point.extrapolated;
    std::string data;
    size_t i = begin;
    for (; i < table.curve.size(); ++i) {
      const StudyRow& row = table.curve[i];
      if (i > begin && row.point.extrapolated != beyond) break;
      data += (data.empty() ? 'M' : 'L') +
              point(row, plane, row.point.samples_per_s.value);
    }
    out += path(data, beyond ? "rate beyond" : "rate");
    begin = i - 1;
  }
  return out;
}

// Marks the job's own point, and the amount that is enough.
std::string marks(const StudyTable& table, const Plane& plane) {
  std::string out;
  if (table.enough.kind == Enough::Kind::kAmount &&
      plane.holds(table.enough.amount)) {
    out += path(fmt::format("M{:.1f} {:.1f}v{:.1f}",
                            plane.x(table.enough.amount), kTop, kHeight),
                "enough");
  }
  for (const StudyRow& row : table.rows) {
    if (!row.present && table.axis != Axis::kRanks) continue;
    out += fmt::format(
        "<circle class=\"here\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>\n",
        plane.x(row.amount), plane.y(row.point.samples_per_s.value),
        row.present ? 5 : 2);
  }
  return out;
}

std::string here_text(const Study& study, const StudyTable& table) {
  for (const StudyRow& row : table.rows)
    if (row.present)
      return fmt::format("{}: {}, {} samples/s",
                         study.set ? "Measured with" : "You are here",
                         named_amount(table.axis, row.amount),
                         figure_text(row.point.samples_per_s.value));
  return "";
}

// Breaks at spaces into lines of at most kCaptionChars.
std::vector<std::string> wrapped(std::string text) {
  std::vector<std::string> lines;
  while (text.size() > kCaptionChars) {
    size_t cut = text.rfind(' ', kCaptionChars);
    if (cut == text.npos || cut == 0) cut = kCaptionChars;
    lines.push_back(text.substr(0, cut));
    text.erase(0, text.find_first_not_of(' ', cut));
  }
  lines.push_back(text);
  return lines;
}

std::string captions(const Study& study, const StudyTable& table) {
  std::string out;
  double y = kTop + kHeight + 60;
  for (const std::string& text :
       {here_text(study, table), enough_text(study, table)}) {
    if (text.empty()) continue;
    for (const std::string& line : wrapped(text)) {
      out += svg_text(kLeft - 40, y, "start", line);
      y += 16;
    }
  }
  return out;
}

std::string panel(const Study& study, const StudyTable& table, double x,
                  double y) {
  const Plane plane(table);
  std::string out =
      fmt::format("<g transform=\"translate({:.0f} {:.0f})\">\n", x, y);
  out += fmt::format("<text class=\"name\" x=\"{:.1f}\" y=\"16\">{}</text>\n",
                     kLeft - 40, words_of(table.axis).panel);
  out += axes(table, plane) + band(table, plane) + ceiling_line(table, plane) +
         rate_line(table, plane) + marks(table, plane) + captions(study, table);
  return out + "</g>\n";
}

// The legend of the lines, under the title.
std::string legend() {
  const auto entry = [](double x, const char* css, const char* words) {
    return path(fmt::format("M{:.1f} 46h26", x), css) +
           svg_text(x + 32, 50, "start", words);
  };
  return entry(24, "rate", "samples/s of a rank") +
         entry(204, "ceiling", "ceiling") + entry(304, "enough", "enough") +
         svg_text(24, 68, "start",
                  "dotted: extrapolated; shaded: the profile's error");
}

std::string description(const Study& study,
                        const std::vector<const StudyTable*>& tables) {
  std::string out =
      "Samples per second of a rank against what it has. The ceiling is " +
      figure_text(study.base().point.ceiling_samples_per_s) + " samples/s.";
  for (const StudyTable* table : tables) {
    const StudyRow& first = table->rows.front();
    const StudyRow& last = table->rows.back();
    out += fmt::format(" {}: from {} samples/s at {} to {} at {}.",
                       words_of(table->axis).panel,
                       figure_text(first.point.samples_per_s.value),
                       amount_text(table->axis, first.amount),
                       figure_text(last.point.samples_per_s.value),
                       amount_text(table->axis, last.amount));
    const std::string here = here_text(study, *table);
    if (!here.empty()) out += " " + here + ".";
    out += " " + enough_text(study, *table) + ".";
  }
  return out;
}

}  // namespace

std::string study_svg(const Study& study) {
  std::vector<const StudyTable*> drawn;
  for (const StudyTable& table : study.tables)
    if (!table.rows.empty()) drawn.push_back(&table);
  const size_t columns = drawn.size() > 1 ? 2 : 1;
  const size_t lines = (drawn.size() + columns - 1) / columns;
  const std::string title = "What if: " + printable(study.profile.name, 24);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "role=\"img\" aria-labelledby=\"title desc\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<title id=\"title\">{}</title>\n"
      "<desc id=\"desc\">{}</desc>\n",
      kPanelWidth * static_cast<double>(columns),
      kHead + kPanelHeight * static_cast<double>(lines), escaped(title),
      escaped(description(study, drawn)));
  out += kStyle;
  out += "<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n";
  out += fmt::format("<text class=\"title\" x=\"24\" y=\"26\">{}</text>\n",
                     escaped(title));
  out += legend();
  for (size_t i = 0; i < drawn.size(); ++i) {
    const size_t line = i / columns;
    out +=
        panel(study, *drawn[i], kPanelWidth * static_cast<double>(i % columns),
              kHead + kPanelHeight * static_cast<double>(line));
  }
  return out + "</svg>\n";
}

}  // namespace penstock
