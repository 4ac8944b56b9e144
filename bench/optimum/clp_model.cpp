#include "bench/optimum/clp_model.h"

#include <Clp_C_Interface.h>

#include <algorithm>
#include <limits>
#include <string>

namespace penstock::optimum {
namespace {

using allocator::Allocation;
using allocator::Job;
using allocator::Problem;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-9;

// cores >= slope x rate + offset, one per piece of the cost curve.
struct CostLine {
  double slope = 0;
  double offset = 0;
};

std::vector<CostLine> cost_lines(const Job& job) {
  std::vector<CostLine> lines;
  Job::Point from;
  for (const Job::Point& to : job.cores_curve) {
    if (to.rate > from.rate) {
      const double slope = (to.cores - from.cores) / (to.rate - from.rate);
      lines.push_back({slope, from.cores - slope * from.rate});
    }
    from = to;
  }
  return lines;
}

double cores_of(const Job& job, double rate) {
  double cores = 0;
  for (const CostLine& line : cost_lines(job)) {
    cores = std::max(cores, line.slope * rate + line.offset);
  }
  return cores;
}

double positive_or(double value, double otherwise) {
  return value > 0 ? value : otherwise;
}

}  // namespace

// Clp's tolerance is absolute in a column's unit, so the unit must be about the
// largest value that the job can reach. In units of its ceiling, a job limited
// to a thousandth of that would have a relative error of 1000 tolerances.
ClpModel::Units ClpModel::units_of(const Problem& problem, const Job& job) {
  const double cores = std::min(job.max_cores, problem.cores);
  double rate = job.ceiling;
  for (const CostLine& line : cost_lines(job)) {
    if (line.slope <= 0) continue;
    rate = std::min(rate, (cores - line.offset) / line.slope);
  }
  return {positive_or(rate, job.ceiling), positive_or(cores, 1)};
}

void ClpModel::Deleter::operator()(void* model) const {
  Clp_deleteModel(model);
}

ClpModel::ClpModel(const Problem& problem) : model_(Clp_newModel()) {
  Clp_setLogLevel(model_.get(), 0);
  Clp_setPrimalTolerance(model_.get(), kTolerance);
  Clp_setDualTolerance(model_.get(), kTolerance);
  Clp_setOptimizationDirection(model_.get(), -1);  // maximise
  Clp_resize(model_.get(), 0, static_cast<int>(2 * problem.jobs.size()));
  for (const Job& job : problem.jobs) units_.push_back(units_of(problem, job));
  bound_columns(problem);
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    add_cost_lines(j, problem.jobs[j]);
  }
  add_capacities(problem);
}

void ClpModel::bound_columns(const Problem& problem) {
  double* low = Clp_columnLower(model_.get());
  double* high = Clp_columnUpper(model_.get());
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const Job& job = problem.jobs[j];
    set_rate_bounds(j, job.floor, job.ceiling);
    low[cores_column(j)] = 0;
    high[cores_column(j)] = job.max_cores / units_[j].cores;
  }
}

void ClpModel::set_rate_bounds(size_t job, double low, double high) {
  Clp_columnLower(model_.get())[rate_column(job)] = low / units_[job].rate;
  Clp_columnUpper(model_.get())[rate_column(job)] = high / units_[job].rate;
}

void ClpModel::add_row(const Row& row) {
  const int starts[] = {0, static_cast<int>(row.columns.size())};
  Clp_addRows(model_.get(), 1, &row.low, &row.high, starts, row.columns.data(),
              row.values.data());
}

void ClpModel::add_cost_lines(size_t job, const Job& data) {
  const Units& unit = units_[job];
  for (const CostLine& line : cost_lines(data)) {
    add_row({line.offset / unit.cores,
             kInfinity,
             {rate_column(job), cores_column(job)},
             {-line.slope * unit.rate / unit.cores, 1}});
  }
}

void ClpModel::add_capacities(const Problem& problem) {
  const double cores_unit = positive_or(problem.cores, 1);
  Row cores{-kInfinity, problem.cores / cores_unit, {}, {}};
  const double ingest_limit = problem.ingest_bytes_per_s;
  Row ingest{-kInfinity, ingest_limit > 0 ? 1 : kInfinity, {}, {}};
  std::vector<Row> pools(problem.pools.size(), {-kInfinity, 1, {}, {}});
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const Job& job = problem.jobs[j];
    const double bytes_per_s = job.bytes_per_rate * units_[j].rate;
    cores.columns.push_back(cores_column(j));
    cores.values.push_back(units_[j].cores / cores_unit);
    if (bytes_per_s == 0) continue;
    if (ingest_limit > 0) {
      ingest.columns.push_back(rate_column(j));
      ingest.values.push_back(bytes_per_s / ingest_limit);
    }
    if (job.pool >= 0) {
      pools[job.pool].columns.push_back(rate_column(j));
      pools[job.pool].values.push_back(bytes_per_s / problem.pools[job.pool]);
    }
  }
  add_row(cores);
  add_row(ingest);
  for (const Row& pool : pools) add_row(pool);
}

Result<std::vector<double>> ClpModel::maximise(
    const std::vector<double>& gains) {
  double* objective = Clp_objective(model_.get());
  for (size_t j = 0; j < units_.size(); ++j) {
    objective[rate_column(j)] = gains[j] * units_[j].rate;
    objective[cores_column(j)] = 0;
  }
  Clp_primal(model_.get(), 0);
  const int status = Clp_status(model_.get());
  if (status == 1) {
    return Error{Code::kInfeasible, 0, "Clp: no rates within the bounds fit"};
  }
  if (status != 0) {
    return Error{Code::kLimit, 0,
                 "Clp: gave up with status " + std::to_string(status)};
  }
  const double* columns = Clp_primalColumnSolution(model_.get());
  std::vector<double> rates;
  for (size_t j = 0; j < units_.size(); ++j) {
    rates.push_back(columns[rate_column(j)] * units_[j].rate);
  }
  return rates;
}

Result<Allocation> throughput_optimum(const Problem& problem) {
  if (Status status = allocator::validate(problem); !status) {
    return status.error();
  }
  std::vector<double> gains;
  for (const Job& job : problem.jobs) {
    gains.push_back(job.weight / job.ceiling);
  }
  const Result<std::vector<double>> rates = ClpModel(problem).maximise(gains);
  if (!rates) return rates.error();
  Allocation optimum;
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const Job& job = problem.jobs[j];
    const double rate = (*rates)[j];
    optimum.grants.push_back(
        {job.id, rate, cores_of(job, rate), job.bytes_per_rate * rate});
    optimum.objective += gains[j] * rate;
  }
  return optimum;
}

}  // namespace penstock::optimum
