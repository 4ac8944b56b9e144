#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace penstock {
namespace {

// Steps of a time axis that suit seconds, minutes and hours.
constexpr double kTimeSteps_s[] = {1,    2,    5,     10,    15,   30,
                                   60,   120,  300,   600,   900,  1800,
                                   3600, 7200, 10800, 21600, 43200};
constexpr double kDay_s = 86400;

double time_step_s(double duration_s, int about) {
  const double least_s = duration_s / about;
  for (double step_s : kTimeSteps_s) {
    if (step_s >= least_s) return step_s;
  }
  // Beyond a day: steps as for numbers, in whole days.
  const Scale days = scale_for(duration_s / kDay_s, about);
  return std::max(1.0, std::ceil(days.ticks[1])) * kDay_s;
}

double y_of(double height, double plot_height) {
  return plot_height * (1 - std::clamp(height, 0.0, 1.0));
}

bool joins(const Step& left, const Step& right) {
  return right.from - left.to < 1e-9;
}

std::string path_of(const std::vector<Step>& steps, double plot_height,
                    bool filled) {
  std::string out;
  const std::string bottom = coordinate(plot_height);
  const Step* last = nullptr;  // of the unbroken run
  std::string y_of_last;
  const auto end_run = [&] {
    if (!last) return;
    out += "H" + coordinate(last->to * kPlotWidth);
    if (filled) out += "V" + bottom + "Z";
    last = nullptr;
  };
  for (const Step& step : steps) {
    const bool is_known = step.height && std::isfinite(*step.height);
    if (!is_known || (last && !joins(*last, step))) end_run();
    if (!is_known) continue;
    const std::string x = coordinate(step.from * kPlotWidth);
    const std::string y = coordinate(y_of(*step.height, plot_height));
    if (!last) {
      out += "M" + x + " " + (filled ? bottom + "V" + y : y);
    } else if (y != y_of_last) {
      out += "H" + x + "V" + y;
    }
    last = &step;
    y_of_last = y;
  }
  end_run();
  return out;
}

}  // namespace

Scale scale_for(double largest, int about) {
  if (!(largest > 0) || !std::isfinite(largest)) return {1, {0, 1}};
  const double rough = largest / about;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * (1 - 1e-9)) step = factor * power;
  }
  Scale out;
  // Ignore rounding that puts `largest` just over a tick.
  const auto steps = std::max<int64_t>(
      1, static_cast<int64_t>(std::ceil(largest / step - 1e-6)));
  out.top = step * static_cast<double>(steps);
  for (int64_t i = 0; i <= steps; ++i) {
    out.ticks.push_back(step * static_cast<double>(i));
  }
  return out;
}

std::vector<double> time_ticks_s(double duration_s, int about) {
  std::vector<double> out = {0};
  if (!(duration_s > 0) || duration_s > 1e12) return out;
  const double step_s = time_step_s(duration_s, about);
  for (int i = 1; i <= about && i * step_s <= duration_s; ++i) {
    out.push_back(i * step_s);
  }
  return out;
}

std::string tick_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole == 0) return "0";
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) {
    return whole % 60 == 0 ? fmt::format("{} min", whole / 60)
                           : fmt::format("{} min {} s", whole / 60, whole % 60);
  }
  if (whole < 86400) {
    return whole % 3600 == 0
               ? fmt::format("{} h", whole / 3600)
               : fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
  }
  return whole % 86400 == 0
             ? fmt::format("{} d", whole / 86400)
             : fmt::format("{} d {} h", whole / 86400, whole / 3600 % 24);
}

std::string line_path(const std::vector<Step>& steps, double plot_height) {
  return path_of(steps, plot_height, false);
}

std::string area_path(const std::vector<Step>& steps, double plot_height) {
  return path_of(steps, plot_height, true);
}

std::string coordinate(double value) {
  std::string out = fmt::format("{:.1f}", value);
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out == "-0" ? "0" : out;
}

std::string percent(double share) {
  std::string out = fmt::format("{:.2f}", share * 100);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with(".")) out.pop_back();
  return (out == "-0" ? "0" : out) + "%";
}

std::vector<Group> grouped(const std::vector<double>& shares, double apart) {
  std::vector<Group> out;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (out.empty() || shares[i] - out.back().at >= apart) {
      out.push_back({i, 1, shares[i]});
    } else {
      ++out.back().count;
    }
  }
  return out;
}

}  // namespace penstock
