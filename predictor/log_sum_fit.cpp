#include "predictor/log_sum_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kMaxSteps = 40;
constexpr double kTolerance = 1e-4;
constexpr double kFoldTolerance = 1e-3;  // of a fit that has a start
constexpr double kLongestStep = 0.5;     // per parameter: a factor of 1.6
constexpr double kHuber = 3.0;           // standard deviations

// The used rows of one group, with their shared effect.
struct Group {
  std::string name;
  std::vector<int> members;
  double variance = 0;
  double effect = 0;  // from the last step
};

// A row's derivative as (parameter, value): few of its features are nonzero and
// few effects apply.
using Sparse = std::vector<std::pair<int, double>>;

// The normal equations of a step; only the lower triangle is valid.
struct Normal {
  MatrixXd matrix;
  VectorXd gradient;

  void add(const Sparse& x, double weight, double residual) {
    for (const auto& [i, xi] : x) {
      for (const auto& [j, xj] : x) {
        if (j <= i) matrix(i, j) += weight * xi * xj;
      }
      gradient[i] += weight * residual * xi;
    }
  }
};

}  // namespace

struct LogSumFit::Impl {
  const LogSumForm& form;
  const std::vector<LogSumRow>& rows;
  std::map<std::string, int> column;      // of an effect; after coefficients
  std::vector<std::vector<int>> columns;  // of each row's effects
  std::map<std::string, std::vector<int>> groups;
  VectorXd prior_mean, prior_precision;

  int parameters() const { return static_cast<int>(prior_mean.size()); }

  // Returns log y of a row; sets slope to its derivative.
  double log_y(int row, const VectorXd& theta, Sparse& slope) const {
    const LogSumInput& input = rows[row].input;
    std::vector<double> terms = input.bases;
    const size_t known = form.coefficients.size();
    for (size_t i = 0; i < known; ++i) {
      terms[form.coefficients[i].term] += theta[i] * input.features[i];
    }
    const double total = log_sum(form, terms);
    slope.clear();
    for (size_t i = 0; i < known; ++i) {
      if (input.features[i] == 0) continue;
      const double share =
          std::exp(form.power * (terms[form.coefficients[i].term] - total));
      slope.emplace_back(static_cast<int>(i), share * input.features[i]);
    }
    double effects = 0;
    for (int at : columns[row]) {
      slope.emplace_back(at, 1.0);
      effects += theta[at];
    }
    return total + effects;
  }

  // Adds a group's rows to the normal equations and updates its effect.
  // Eliminates the shared error. W: the members' weights, X: their derivatives,
  // v = X'w. X'WX becomes X'WX - k v v' with
  // k = variance / (1 + variance sum w), and the right side changes
  // accordingly.
  void add_group(const VectorXd& theta, Group& group, Normal& normal) const {
    std::map<int, double> shared;
    double weights = 0, residuals = 0;
    Sparse slope;
    for (int row : group.members) {
      const double residual = rows[row].log_y - log_y(row, theta, slope);
      double weight = 1 / (rows[row].noise_sd * rows[row].noise_sd);
      const double left =
          std::abs(residual - group.effect) / rows[row].noise_sd;
      if (left > kHuber) weight *= kHuber / left;
      normal.add(slope, weight, residual);
      weights += weight;
      residuals += weight * residual;
      for (const auto& [i, value] : slope) shared[i] += weight * value;
    }
    if (group.variance == 0) return;
    const double k = group.variance / (1 + group.variance * weights);
    const Sparse v(shared.begin(), shared.end());
    for (const auto& [i, vi] : v) normal.gradient[i] -= k * residuals * vi;
    normal.add(v, -k, 0);
    group.effect = k * residuals;
  }

  std::vector<Group> groups_in(const std::vector<bool>& use,
                               const LogSumParameters* start) const {
    std::vector<Group> out;
    for (const auto& [name, members] : groups) {
      Group group;
      group.name = name;
      for (int row : members) {
        if (!use[row]) continue;
        group.members.push_back(row);
        if (rows[row].group.empty()) continue;
        group.variance = rows[row].group_sd * rows[row].group_sd;
      }
      if (group.members.empty()) continue;
      if (start) {
        const auto found = start->effects.find(name);
        if (found != start->effects.end()) group.effect = found->second;
      }
      out.push_back(std::move(group));
    }
    return out;
  }

  VectorXd start_at(const LogSumParameters* start) const {
    VectorXd theta = prior_mean;
    if (!start) return theta;
    for (size_t i = 0; i < start->coefficients.size(); ++i) {
      theta[i] = start->coefficients[i];
    }
    for (const auto& [level, at] : column) {
      const auto found = start->effects.find(level);
      if (found != start->effects.end()) theta[at] = found->second;
    }
    return theta;
  }

  LogSumParameters named(const VectorXd& theta,
                         const std::vector<Group>& shared) const {
    LogSumParameters out;
    out.coefficients.assign(theta.data(),
                            theta.data() + form.coefficients.size());
    for (const auto& [level, at] : column) out.effects[level] = theta[at];
    for (const Group& group : shared) {
      if (group.variance > 0) out.effects[group.name] = group.effect;
    }
    return out;
  }
};

LogSumFit::LogSumFit(const LogSumForm& form, const std::vector<LogSumRow>& rows)
    : impl_(new Impl{form, rows, {}, {}, {}, {}, {}}) {
  Impl& it = *impl_;
  std::vector<double> mean, precision;
  for (const Coefficient& c : form.coefficients) {
    mean.push_back(c.mean);
    precision.push_back(1 / (c.sd * c.sd));
  }
  it.columns.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const std::string& level : rows[i].input.effects) {
      const double sd = form.effect_sd(level);
      if (sd <= 0) continue;
      const auto [at, is_new] =
          it.column.try_emplace(level, static_cast<int>(mean.size()));
      if (is_new) {
        mean.push_back(0);
        precision.push_back(1 / (sd * sd));
      }
      it.columns[i].push_back(at->second);
    }
    // A row without a group forms its own group, with no shared effect.
    const std::string group =
        rows[i].group.empty() ? "row " + std::to_string(i) : rows[i].group;
    it.groups[group].push_back(static_cast<int>(i));
  }
  it.prior_mean = Eigen::Map<VectorXd>(mean.data(), mean.size());
  it.prior_precision = Eigen::Map<VectorXd>(precision.data(), precision.size());
}

LogSumFit::~LogSumFit() = default;

LogSumParameters LogSumFit::fit(const std::vector<bool>& use,
                                const LogSumParameters* start) const {
  const Impl& it = *impl_;
  std::vector<Group> shared = it.groups_in(use, start);
  VectorXd theta = it.start_at(start);
  const double tolerance = start ? kFoldTolerance : kTolerance;
  const int size = it.parameters();
  Normal normal;
  for (int step = 0; step < kMaxSteps; ++step) {
    normal.matrix = it.prior_precision.asDiagonal();
    normal.gradient = -it.prior_precision.cwiseProduct(theta - it.prior_mean);
    for (Group& group : shared) it.add_group(theta, group, normal);
    const VectorXd change =
        normal.matrix.selfadjointView<Eigen::Lower>().llt().solve(
            normal.gradient);
    theta += change.cwiseMax(-kLongestStep).cwiseMin(kLongestStep);
    if (size == 0 || change.cwiseAbs().maxCoeff() < tolerance) break;
  }
  return it.named(theta, shared);
}

}  // namespace penstock
