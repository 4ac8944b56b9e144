// Publishes a demand table for the tests, as penstockctld does.
//
//   write_demand_table FILE [--model NAME:MILLICORES:BYTES_PER_S]...
//                           [--job ID:MILLICORES:BYTES_PER_S]...
//
// A NAME of nothing is the entry for any job.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "common/units.h"
#include "select_ext/job_submit/table_writer.h"

namespace {

using namespace penstock;              // NOLINT: a small program
using namespace penstock::job_submit;  // NOLINT

struct Parts {
  std::string name;
  uint64_t millicores = 0;
  uint64_t bytes_per_s = 0;
};

Result<Parts> split(const std::string& text) {
  const size_t first = text.find(':');
  const size_t second = text.find(':', first + 1);
  if (first == text.npos || second == text.npos)
    return invalid(text + ": not valid; allowed: NAME:NUMBER:NUMBER");
  const auto millicores =
      parse_uint(std::string_view(text).substr(first + 1, second - first - 1),
                 0, kMaxMillicores);
  const auto bytes_per_s =
      parse_uint(std::string_view(text).substr(second + 1), 0, kMaxBytesPerS);
  if (!millicores) return Error(millicores.error()).wrap(text);
  if (!bytes_per_s) return Error(bytes_per_s.error()).wrap(text);
  return Parts{text.substr(0, first), *millicores, *bytes_per_s};
}

Result<ModelDemand> model_of(const std::string& text) {
  const auto parts = split(text);
  if (!parts) return parts.error();
  const auto around = [](double value) {
    return Figure{value, value / 2, value * 2};
  };
  Prediction prediction;
  prediction.demand_cores =
      around(static_cast<double>(parts->millicores) / 1000);
  prediction.demand_bytes_per_s =
      around(static_cast<double>(parts->bytes_per_s));
  prediction.ceiling_samples_per_s = around(700);
  return model_demand(parts->name, prediction);
}

Result<JobDemand> job_of(const std::string& text) {
  const auto parts = split(text);
  if (!parts) return parts.error();
  const auto id = parse_uint(parts->name, 1, UINT32_MAX);
  if (!id) return Error(id.error()).wrap(text);
  return JobDemand{static_cast<uint32_t>(*id),
                   static_cast<uint32_t>(parts->millicores),
                   parts->bytes_per_s};
}

Status run(const std::string& path, const std::vector<std::string>& model_texts,
           const std::vector<std::string>& job_texts) {
  std::vector<ModelDemand> models;
  for (const std::string& text : model_texts) {
    const auto model = model_of(text);
    if (!model) return model.error();
    models.push_back(*model);
  }
  std::vector<JobDemand> jobs;
  for (const std::string& text : job_texts) {
    const auto job = job_of(text);
    if (!job) return job.error();
    jobs.push_back(*job);
  }
  auto writer = TableWriter::open(path);
  if (!writer) return writer.error();
  return writer->publish(models, jobs, 1);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app;
  std::string path;
  std::vector<std::string> models, jobs;
  app.add_option("FILE", path)->required();
  app.add_option("--model", models);
  app.add_option("--job", jobs);
  CLI11_PARSE(app, argc, argv);
  const Status status = run(path, models, jobs);
  if (status) return 0;
  std::fprintf(stderr, "write_demand_table: %s\n",
               status.error().message.c_str());
  return 1;
}
