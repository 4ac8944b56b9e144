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
constexpr double kRoom = 1.25;  // length of the axis over its largest mark
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

// Cores that a rank's loader threads can use; nullopt: no limit.
std::optional<double> usable_cores(const Job& job, double ranks) {
  double threads = job.loader.most_threads;
  if (job.widest.elastic)
    threads = double(job.options.threads) * job.widest.tasks;
  if (threads <= 0) return std::nullopt;
  return threads / ranks;
}

// The curve, truncated at this number of cores.
RateCurve held_to(const RateCurve& curve, double cores) {
  RateCurve out;
  for (const RatePoint& point : curve) {
    if (point.cores < cores) out.push_back(point);
  }
  if (out.size() < curve.size()) {
    out.push_back({cores, rate_of_cores(curve, cores)});
  }
  return out;
}

// The loader's speed, per rank.
struct Loader {
  RateCurve curve;              // empty: a straight line
  double cpu_s_per_sample = 0;  // if the curve is empty
  // Factors of the rates at the interval's ends.
  double low_factor = 1;
  double high_factor = 1;
  bool measured_here = false;
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
    const auto low = model(ceiling.low, loader_.low_factor, bytes().high);
    const auto middle = model(ceiling.value, 1, bytes().value);
    const auto high = model(ceiling.high, loader_.high_factor, bytes().low);
    if (!low || !middle || !high) {
      out_.unknown = "the costs of a sample are out of all bounds";
      return out_;
    }
    out_.ceiling = ceiling.value;
    take_enough(*middle);
    take_points(*low, *middle, *high);
    take_notes(*middle);
    return out_;
  }

 private:
  bool has_curve() const {
    return job_.costs.profile && !job_.costs.profile->describes_job() &&
           !job_.costs.profile->rate_at_cores.empty();
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
    const bool has_cost = costs_ && costs_->loader_cpu_s_per_sample.known() &&
                          costs_->loader_cpu_s_per_sample.value > 0;
    if (has_curve() || has_cost) return "";
    return "what a sample costs the loader is not known: no thread of it used "
           "CPU that could be told apart, and " +
           option_flag(kOptionModel) + " names no profile";
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
    const Figure& cost = costs_->loader_cpu_s_per_sample;
    loader_.cpu_s_per_sample = cost.value;
    loader_.low_factor = cost.value / cost.high;
    loader_.high_factor =
        cost.value / std::max(cost.low, kLeastShare * cost.value);
    loader_.measured_here = costs_->basis.starts_with("measured") &&
                            job_.totals.home_cpu_s + job_.totals.away_cpu_s > 0;
    if (loader_.measured_here) out_.measured_cores = out_.here_cores;
    out_.basis = fmt::format(
        "{} ms of CPU for a sample, {}, at any number of cores; the ceiling is "
        "{}",
        fmt::format("{:.3g}", cost.value * 1e3),
        loader_.measured_here ? "measured in this run" : costs_->basis,
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
    const auto most = usable_cores(job_, ranks_);
    if (most) loader_.curve = held_to(loader_.curve, *most);
    out_.measured_cores = loader_.curve.back().cores * ranks_;
  }

  // Storage bytes per sample; zeros if unknown.
  Figure bytes() const {
    if (!costs_ || !costs_->storage_bytes_per_sample.known()) return {0, 0, 0};
    return costs_->storage_bytes_per_sample;
  }

  Result<WhatIf> model(double ceiling, double factor, double bytes) const {
    Profile profile;
    profile.accelerator_s_per_sample = ranks_ / ceiling;
    profile.bytes_per_sample = bytes;
    profile.loader_cpu_s_per_sample = loader_.cpu_s_per_sample / factor;
    for (const RatePoint& point : loader_.curve) {
      profile.cores.push_back(point.cores);
      profile.rate_at_cores.push_back(point.samples_per_s * factor);
    }
    const auto most = usable_cores(job_, ranks_);
    if (most) profile.loader_threads = int(std::ceil(std::min(*most, 1e6)));
    if (has_curve()) {
      profile.corner_ceiling = job_.costs.profile->corner_ceiling;
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

  void take_notes(const WhatIf& model) {
    const auto note = [&](std::string text) {
      out_.notes.push_back(std::move(text));
    };
    if (!model.corner_known()) {
      note(
          "How sharply one limit takes over from another was not measured: "
          "near there the rate will be lower than drawn.");
    }
    if (bytes().value > 0 && !bandwidth()) {
      note("What storage supplies is not known: it limits nothing here.");
    }
    if (const auto most = usable_cores(job_, ranks_)) {
      note(
          fmt::format("The loader can use {:.4g} cores at most: each of its "
                      "threads uses one.",
                      *most * ranks_));
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
