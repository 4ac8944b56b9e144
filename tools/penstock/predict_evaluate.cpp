// `penstock predict --calibrate` and `--evaluate`: fits the parameters to a
// table of measured rates, and scores predictions of one.
#include <fmt/format.h>

#include <chrono>
#include <ostream>

#include "predictor/arrival_parameters.h"
#include "predictor/studies.h"
#include "tools/penstock/bench_figures.h"
#include "tools/penstock/command.h"
#include "tools/penstock/predict.h"
#include "tools/penstock/read_file.h"

namespace penstock {
namespace {

constexpr size_t kMaxTableBytes = size_t{256} * 1024 * 1024;
constexpr auto kSilence = std::chrono::seconds(2);

Result<std::vector<MeasuredRow>> read_rows(const std::string& path) {
  Result<std::string> text = read_file(path, kMaxTableBytes);
  if (!text) return std::move(text).error();
  return parse_measured_rows(*text, path);
}

// Shows the progress of a calibration that takes longer than kSilence.
class ProgressLine {
 public:
  explicit ProgressLine(Terminal& terminal)
      : terminal_(terminal), start_(std::chrono::steady_clock::now()) {}
  ~ProgressLine() {
    if (shown_) terminal_.out << "\r\033[K" << std::flush;
  }

  void operator()(size_t done, size_t total) {
    if (!terminal_.interactive) return;
    if (std::chrono::steady_clock::now() - start_ < kSilence) return;
    shown_ = true;
    terminal_.out << fmt::format("\r\033[Kcalibrating: {} of {} fits", done,
                                 total)
                  << std::flush;
  }

 private:
  Terminal& terminal_;
  std::chrono::steady_clock::time_point start_;
  bool shown_ = false;
};

Calibration calibrated(const std::vector<MeasuredRow>& rows,
                       Terminal& terminal) {
  ProgressLine line(terminal);
  return calibrate(rows, [&](size_t done, size_t total) { line(done, total); });
}

// The spread of a figure is the interquartile range of the errors.
std::vector<BenchFigure> figures_of(const std::vector<StudyScore>& scores) {
  std::vector<BenchFigure> figures;
  for (const StudyScore& it : scores) {
    const size_t rows = it.errors.size();
    const double spread = it.error_at(0.75) - it.error_at(0.25);
    const auto add = [&](const char* what, double value, double width) {
      figures.push_back({it.name + "_" + what, value, "1", width, rows});
    };
    add("median", it.error_at(0.5), spread);
    add("p90", it.error_at(0.9), spread);
    if (it.median_of_families > 0) {
      add("median_of_families", it.median_of_families, spread);
    }
    if (it.weight == 0) continue;  // the study has no intervals
    add("coverage", it.coverage(), 0);
    add("width", it.width(), 0);
  }
  return figures;
}

std::string table_of(const std::vector<StudyScore>& scores) {
  std::string out =
      fmt::format("{:<18}{:>9}{:>9}{:>11}{:>10}{:>9}{:>9}\n", "study", "median",
                  "p90", "families", "coverage", "width", "rows");
  for (const StudyScore& it : scores) {
    const bool interval = it.weight > 0;
    out += fmt::format(
        "{:<18}{:>9.3f}{:>9.3f}{:>11}{:>10}{:>9}{:>9}\n", it.name,
        it.error_at(0.5), it.error_at(0.9),
        it.median_of_families > 0 ? fmt::format("{:.3f}", it.median_of_families)
                                  : "",
        interval ? fmt::format("{:.3f}", it.coverage()) : "",
        interval ? fmt::format("{:.2f}", it.width()) : "", it.errors.size());
  }
  return out;
}

Status report_scores(const std::vector<StudyScore>& scores,
                     const std::string& json_file, Terminal& terminal) {
  const std::string machine = machine_text();
  terminal.out << table_of(scores);
  if (json_file.empty()) return Done{};
  return write_text(json_file,
                    figures_json("predict", machine, figures_of(scores)));
}

}  // namespace

Status run_predict_tables(const PredictTables& arguments, Terminal& terminal) {
  Calibration learned;
  if (!arguments.calibrate.empty()) {
    Result<std::vector<MeasuredRow>> rows = read_rows(arguments.calibrate);
    if (!rows) return std::move(rows).error();
    learned = calibrated(*rows, terminal);
  }
  if (!arguments.output.empty()) {
    Status written =
        write_text(arguments.output, write_parameters(learned.parameters));
    if (!written || arguments.evaluate.empty()) return written;
  }
  if (arguments.evaluate.empty()) {
    terminal.out << write_parameters(learned.parameters);
    return Done{};
  }
  Result<std::vector<MeasuredRow>> rows = read_rows(arguments.evaluate);
  if (!rows) return std::move(rows).error();
  if (!arguments.calibrate.empty()) {
    return report_scores(score_new_rows(*rows, learned.parameters),
                         arguments.json_file, terminal);
  }
  learned = calibrated(*rows, terminal);
  return report_scores(score_left_out(*rows, learned), arguments.json_file,
                       terminal);
}

}  // namespace penstock
