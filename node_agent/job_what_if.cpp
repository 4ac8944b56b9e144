#include "node_agent/job_what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/options.h"
#include "predictor/rate_curve.h"
#include "predictor/what_if.h"

namespace penstock {
namespace {

constexpr int kSteps = 32;
constexpr double kManyCores = 1e6;
constexpr double kMostCores = 4096;  // of a profile
constexpr double kRoom = 1.25;       // length of the axis over its largest mark
// Lower bound of a cost's interval, as a share of the cost.
constexpr double kLeastShare = 1e-3;

bool is_positive(const std::optional<Estimate>& estimate) {
  return estimate && is_known(*estimate) && estimate->low > 0;
}

std::optional<Estimate> ceiling_of(const Compared& ceiling) {
  for (const auto& known :
       {ceiling.measured, ceiling.corrected, ceiling.predicted}) {
    if (is_positive(known)) return known;
  }
  return std::nullopt;
}

const char* ceiling_source(const Compared& ceiling) {
  if (is_positive(ceiling.measured)) return "measured in this run";
  return is_positive(ceiling.corrected) ? "of its first seconds" : "predicted";
}

// What a run does not measure.
struct Assumed {
  // What a core beyond the measured ones brings of a measured one. While they
  // rise, the curves of Synergy's ten models (predictor/profile_builtin.cpp)
  // gain 0.45 to 0.9 of a straight line beyond 3 cores (once 1.5), 0.75 in the
  // median of 21 points.
  double further;
  // The exponent of the corner at the ceiling (predictor/corner.h). PyTorch
  // jobs that were given the cores that they needed came to 0.90 to 0.95 of
  // the ceiling, penstock-train's to all of it (`penstock bench advice`).
  double corner;
};
constexpr Assumed kExpected{0.75, 8}, kLeast{0.5, 4}, kMost{1, 64};

// The line through the measured point, and beyond it with this much of its
// slope.
RateCurve line_through(const RatePoint& measured, double further) {
  const double more = kMostCores / measured.cores - 1;
  if (!(more > 0)) return {measured};
  return {measured,
          {kMostCores, measured.samples_per_s * (1 + further * more)}};
}

// The loader's speed, per rank.
struct Loader {
  RateCurve curve;                    // of the profile; empty: a straight line
  double cpu_s_per_sample = 0;        // if the curve is empty
  std::optional<RatePoint> measured;  // on the line; nullopt: it is predicted
  // Factors of the rates at the interval's ends.
  double low_factor = 1;
  double high_factor = 1;
};

class Maker {
 public:
  Maker(const Job& job, const JobReport& report)
      : job_(job),
        report_(report),
        ranks_(std::max<double>(1, report.ranks)),
        costs_(job.costs.corrected ? job.costs.corrected : job.costs.prior) {}

  WhatIfCurve make() {
    out_.unknown = why_unknown();
    if (!out_.unknown.empty()) return out_;
    take_here();
    take_loader();
    const Estimate ceiling = *ceiling_of(report_.ceiling);
    const auto low =
        model(ceiling.low, loader_.low_factor, bytes().high, kLeast);
    const auto middle = model(ceiling.value, 1, bytes().value, kExpected);
    const auto high =
        model(ceiling.high, loader_.high_factor, bytes().low, kMost);
    if (!low || !middle || !high) {
      out_.unknown = "the costs of a sample are out of all bounds";
      return out_;
    }
    out_.ceiling = ceiling.value;
    take_enough(*middle);
    take_points(*low, *middle, *high);
    take_notes();
    return out_;
  }

 private:
  bool has_curve() const {
    return job_.costs.profile && !job_.costs.profile->describes_job() &&
           !job_.costs.profile->rate_at_cores.empty();
  }

  bool corner_is_measured() const {
    return has_curve() && job_.costs.profile->corner_ceiling > 0;
  }

  std::string why_unknown() const {
    if (report_.quality.pages_contradicted) {
      return "the job's own figures contradict the kernel's";
    }
    if (!ceiling_of(report_.ceiling)) {
      return "the ceiling is not known: the job reported no progress (see "
             "libpenstock(3)), and " +
             option_flag(kOptionModel) + " names no profile of it";
    }
    if (has_curve() || cost_s()) return "";
    return "what a sample costs the loader is not known: no thread of it used "
           "CPU that could be told apart, and " +
           option_flag(kOptionModel) + " names no profile";
  }

  // CPU time of the loader for a sample.
  std::optional<Estimate> cost_s() const {
    const CoreFigures& cores = report_.cores;
    if (cores.loader_kind == LoaderKind::kTrainer) {
      if (!is_positive(cores.demand)) return std::nullopt;
      return Estimate::exact(cores.demand->value /
                             ceiling_of(report_.ceiling)->value);
    }
    if (!costs_ || !costs_->loader_cpu_s_per_sample.known() ||
        !(costs_->loader_cpu_s_per_sample.value > 0)) {
      return std::nullopt;
    }
    const Figure& cost = costs_->loader_cpu_s_per_sample;
    return Estimate{cost.value, std::max(cost.low, kLeastShare * cost.value),
                    cost.high};
  }

  bool is_measured() const {
    const CoreFigures& cores = report_.cores;
    return cores.loader_kind == LoaderKind::kTrainer ||
           (costs_->basis.starts_with("measured") &&
            cores.used_home.value_or(0) + cores.used_away.value_or(0) > 0);
  }

  void take_here() {
    const CoreFigures& cores = report_.cores;
    if (cores.granted_home) {
      out_.here_cores = *cores.granted_home + cores.granted_away.value_or(0);
    }
    if (report_.throughput.measured) {
      out_.here_rate = report_.throughput.measured->value;
    }
  }

  void take_loader() {
    if (has_curve()) return take_profile();
    const Estimate cost = *cost_s();
    loader_.cpu_s_per_sample = cost.value;
    loader_.low_factor = cost.value / cost.high;
    loader_.high_factor = cost.value / cost.low;
    const bool measured = is_measured();
    if (measured && out_.here_rate && *out_.here_rate > 0) {
      const double rate = *out_.here_rate / ranks_;
      loader_.measured = RatePoint{cost.value * rate, rate};
      out_.measured_cores = loader_.measured->cores * ranks_;
    }
    out_.basis = fmt::format(
        "{:.3g} ms of CPU for a sample, {}; the ceiling is {}",
        cost.value * 1e3, measured ? "measured in this run" : costs_->basis,
        ceiling_source(report_.ceiling));
  }

  void take_profile() {
    const Profile& profile = *job_.costs.profile;
    loader_.curve = rate_curve(profile);
    loader_.low_factor = 1 - profile.relative_error;
    loader_.high_factor = 1 + profile.relative_error;
    out_.basis = fmt::format(
        "profile {}, measured at {:.4g} to {:.4g} loader cores of a rank; the "
        "ceiling is {}",
        profile.name, loader_.curve.front().cores, loader_.curve.back().cores,
        ceiling_source(report_.ceiling));
    out_.measured_cores = loader_.curve.back().cores * ranks_;
  }

  // Storage bytes per sample; zeros if unknown.
  Figure bytes() const {
    if (!costs_ || !costs_->storage_bytes_per_sample.known()) return {0, 0, 0};
    return costs_->storage_bytes_per_sample;
  }

  Result<WhatIf> model(double ceiling, double factor, double bytes,
                       const Assumed& assumed) const {
    Profile profile;
    profile.accelerator_s_per_sample = ranks_ / ceiling;
    profile.bytes_per_sample = bytes;
    profile.loader_cpu_s_per_sample = loader_.cpu_s_per_sample / factor;
    const RateCurve curve =
        loader_.measured ? line_through(*loader_.measured, assumed.further)
                         : loader_.curve;
    for (const RatePoint& point : curve) {
      profile.cores.push_back(point.cores);
      profile.rate_at_cores.push_back(point.samples_per_s * factor);
    }
    profile.corner_ceiling = corner_is_measured()
                                 ? job_.costs.profile->corner_ceiling
                                 : assumed.corner;
    if (has_curve()) {
      profile.corner_storage = job_.costs.profile->corner_storage;
    }
    return WhatIf::from(profile, CoresOf::kLoader);
  }

  // Bandwidth of storage per rank.
  std::optional<double> bandwidth() const {
    std::optional<double> out;
    if (job_.costs.profile && job_.costs.profile->fetch_bytes_per_s > 0) {
      out = job_.costs.profile->fetch_bytes_per_s;
    }
    const double limit = job_.widest.grant.bytes_per_s / ranks_;
    if (limit > 0) out = std::min(out.value_or(limit), limit);
    return out;
  }

  Amounts amounts(double cores) const {
    Amounts out;
    out.cores = cores / ranks_;
    out.bandwidth_bytes_per_s = bandwidth();
    return out;
  }

  void take_enough(const WhatIf& model) {
    const Enough enough = model.enough_cores(amounts(1));
    if (enough.kind == Enough::Kind::kAmount) {
      out_.enough_cores = enough.amount * ranks_;
    } else {
      out_.why_not_enough = enough.why;
    }
  }

  // If no number of cores is enough, the axis ends where more cores add
  // nothing.
  double end_of_axis(const WhatIf& model) const {
    const double here = out_.here_cores.value_or(0);
    if (out_.enough_cores) return kRoom * std::max(here, *out_.enough_cores);
    double end = std::max({here, out_.measured_cores.value_or(0), 1.0});
    const double most = rate(model, kManyCores);
    while (end < kManyCores && rate(model, end) < kDataKeepsUp * most) end *= 2;
    return kRoom * end;
  }

  // Rate of all ranks.
  double rate(const WhatIf& model, double cores) const {
    return model.at(amounts(cores)).samples_per_s.value * ranks_;
  }

  void take_points(const WhatIf& low, const WhatIf& middle,
                   const WhatIf& high) {
    const double end = end_of_axis(middle);
    std::vector<double> at;
    for (int i = 1; i <= kSteps; ++i) at.push_back(end * i / kSteps);
    for (const auto& special :
         {out_.here_cores, out_.enough_cores, out_.measured_cores}) {
      if (special && *special > 0 && *special < end) at.push_back(*special);
    }
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    out_.points.push_back({});
    for (double cores : at) {
      const double value = rate(middle, cores);
      out_.points.push_back({cores,
                             {value, std::min(rate(low, cores), value),
                              std::max(rate(high, cores), value)}});
    }
  }

  void take_notes() {
    const auto note = [&](std::string text) {
      out_.notes.push_back(std::move(text));
    };
    if (!corner_is_measured()) {
      note(
          "Near the ceiling the rate is below both limits; how far was not "
          "measured, and is assumed as in similar jobs.");
    }
    if (bytes().value > 0 && !bandwidth()) {
      note("What storage supplies is not known: it limits nothing here.");
    }
    if (loader_.measured) {
      note(fmt::format(
          "A core beyond the measured ones brings {:.0f}% of one of these, "
          "{:.0f}% to {:.0f}%: so it was where it was measured.",
          kExpected.further * 100, kLeast.further * 100, kMost.further * 100));
    }
    if (!report_.cores.loader_grows && report_.cores.loader_threads) {
      note(fmt::format(
          "A loader thread or worker uses one core at most, and {:.0f} ran: "
          "more cores need as many.",
          *report_.cores.loader_threads));
    }
  }

  const Job& job_;
  const JobReport& report_;
  const double ranks_;
  const std::optional<Prediction> costs_;  // per rank
  Loader loader_;
  WhatIfCurve out_;
};

}  // namespace

WhatIfCurve what_if_of(const Job& job, const JobReport& report) {
  return Maker(job, report).make();
}

}  // namespace penstock
