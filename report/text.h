// Building blocks of the text views: a page of lines that fit, and readable
// figures. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/render.h"

namespace penstock {

// Collects lines. Added text is shown_text(), so that a name cannot control the
// terminal; only the page itself adds colours and bars. Lines wider than the
// page are broken at spaces.
class Page {
 public:
  explicit Page(const TextStyle& style);

  enum class Tone { kPlain, kHeading, kGood, kWarning, kBad };

  // Continuation lines are indented by hang columns.
  void line(std::string_view text, int hang = 4, Tone tone = Tone::kPlain);
  // A heading after an empty line.
  void heading(std::string_view text);
  // The text, then a bar; a share of 1 fills the rest of the line.
  void bar(std::string_view text, double share);
  // Number of cells in a line of figures on this page.
  size_t line_cells() const;
  // A label, one cell per figure of 0 to 1 (nullopt and NaN: empty), and the
  // text of their scale.
  void line_of_figures(std::string_view label,
                       const std::vector<std::optional<double>>& figures,
                       std::string_view scale, Tone tone = Tone::kPlain);
  // A label and one cell per mark.
  void line_of_marks(std::string_view label, const std::vector<bool>& marks);

  std::string take() { return std::move(out_); }

 private:
  void add(std::string_view text, Tone tone);
  void add_line(std::string_view label, std::string_view cells,
                std::string_view scale, Tone tone);

  TextStyle style_;
  std::string out_;
};

// About three significant digits: "0.90", "12.3", "4711"; "-": unknown.
std::string figure_text(const std::optional<double>& value);
// "12.3 MB/s"; "-": unknown.
std::string rate_text(const std::optional<double>& bytes_per_s);
// "812 [700 to 930]"; "812" if the interval is a point; "-": unknown.
// value_text: of each figure.
std::string estimate_text(
    const std::optional<Estimate>& value,
    std::string (*value_text)(const std::optional<double>&) = figure_text);
// "no limit" instead of "-".
std::string limit_text(const std::optional<double>& bytes_per_s);
// prediction_error() as "+3.1%"; "-": unknown.
std::string error_text(const std::optional<Estimate>& predicted,
                       const std::optional<Estimate>& measured);
// A fraction as "98%"; "-": unknown.
std::string share_text(const std::optional<double>& share);
// "75% of the samples came from memory, 1.2 GB not read from storage; it holds
// 65% of the data set".
std::string cache_text(const CacheFigures& cache);
// "4, a kernel ran on them for 63% of the time, ..."; "" without GPUs.
std::string gpus_text(const GpuFigures& gpus);
// "4711"; of a task of an array, or after restarts, "4711 (9_1 r2)".
std::string number_text(const JobReport& report);
// Name or number.
std::string user_text(const JobReport& report);
// "--loader=auto --loader-threads=2"; "nothing".
std::string options_text(const std::vector<OptionGiven>& options);
// Of throughput, as a fraction: "throughput +12% [5 to 20]".
std::string gain_text(const Estimate& gain);
// used / granted; nullopt if either is unknown or granted is not positive.
std::optional<double> ratio(const std::optional<double>& used,
                            const std::optional<double>& granted);
// "5 min 12 s", "2 h 03 min", "41.5 s".
std::string duration_text(double seconds);
// "2026-01-31 14:02:11 UTC"; "-" for a time outside the years 1970 to 9999.
std::string date_text(double unix_s);
// Time since a start as "+0:01:02.3"; negative times count as 0.
std::string offset_text(double seconds);
// A time in UTC, as precise as ticks of step_s need: "14:02:11", from a minute
// on "14:02", from a day on "01-31"; "-" as in date_text().
std::string clock_text(double unix_s, double step_s);

}  // namespace penstock
