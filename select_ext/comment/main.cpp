// penstock-comment: makes its standard input the admin comment of an ended job
// in Slurm's accounting. `sacctmgr modify job` cannot: of Slurm 22.05 it
// changes capitals and quotes.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "common/job_number.h"
#include "common/result.h"
#include "common/slurm_release.h"
#include "report/summary.h"

namespace penstock {
namespace {

constexpr unsigned kDeadline_s = 30;

slurm_selected_step_t step_of(const JobNumber& job) {
  slurm_selected_step_t it{};
  it.step_id.job_id = job.first;
  it.step_id.step_id = it.step_id.step_het_comp = NO_VAL;
  it.array_task_id = job.task.value_or(NO_VAL);
  it.het_job_offset = job.component.value_or(NO_VAL);
  return it;
}

// Without the newline at its end.
Result<std::string> text_of(std::istream& in) {
  std::string text(kMaxSummaryBytes + 2, '\0');
  in.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(in.gcount()));
  if (text.ends_with('\n')) text.pop_back();
  if (text.size() > kMaxSummaryBytes) {
    return invalid("more than " + std::to_string(kMaxSummaryBytes) +
                   " bytes; give a summary of `penstock report JOBID "
                   "--summary`");
  }
  for (const char c : text) {
    if (c < ' ' || c > '~') return invalid("not one line of printable ASCII");
  }
  if (text.empty()) return invalid("no text on standard input");
  return text;
}

Error not_written() {
  const int error = errno;
  if (error == 0) return Error{Code::kNotFound, 0, "slurmdbd: no such job"};
  return Error{Code::kUnavailable, 0,
               std::string("not written: ") + slurm_strerror(error)};
}

// Errors: kNotFound     slurmdbd does not know the job, or not yet
//         kUnavailable  it refuses, or does not answer
Status write_comment(const JobNumber& job, std::string text) {
  slurm_conf_t* conf = nullptr;
  if (slurm_load_ctl_conf(0, &conf) != 0) return not_written();
  std::string cluster = conf->cluster_name ? conf->cluster_name : "";
  slurm_release::free_conf(conf);
  uint16_t flags = 0;
  void* connection = slurmdb_connection_get(&flags);
  if (connection == nullptr) return not_written();
  slurm_selected_step_t step = step_of(job);
  slurmdb_job_cond_t condition{};
  condition.db_flags = NO_VAL;
  condition.step_list = slurm_list_create(nullptr);
  slurm_list_append(condition.step_list, &step);
  condition.cluster_list = slurm_list_create(nullptr);
  slurm_list_append(condition.cluster_list, cluster.data());
  slurmdb_job_rec_t change{};
  change.derived_ec = NO_VAL;  // unchanged
  change.admin_comment = text.data();
  errno = 0;
  auto* changed = slurmdb_job_modify(connection, &condition, &change);
  // An empty list: slurmdbd knows no such job.
  const bool is_done = changed != nullptr && slurm_list_count(changed) > 0 &&
                       slurmdb_connection_commit(connection, true) == 0;
  Status status = is_done ? Status(Done{}) : Status(not_written());
  if (changed != nullptr) slurm_list_destroy(changed);
  slurm_list_destroy(condition.cluster_list);
  slurm_list_destroy(condition.step_list);
  slurmdb_connection_close(&connection);
  return status;
}

int fail(const Error& error, int code) {
  std::cerr << "penstock-comment: " << error.message << '\n';
  return code;
}

int run(const std::string& number) {
  const Result<JobNumber> job = parse_job_number(number);
  if (!job) return fail(job.error(), 2);
  if (std::max({job->first, job->task.value_or(0),
                job->component.value_or(0)}) >= NO_VAL) {
    return fail(invalid(job->text + ": not a number of Slurm's"), 2);
  }
  Result<std::string> text = text_of(std::cin);
  if (!text) return fail(text.error(), 2);
  ::alarm(kDeadline_s);  // libslurm may wait for ever
  slurm_init(nullptr);
  Status written = write_comment(*job, *std::move(text));
  slurm_fini();
  if (written) return 0;
  return fail(written.error(), written.error().code == Code::kNotFound ? 3 : 1);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  std::string number;
  CLI::App app{
      "Makes its standard input, one line, the admin comment of an ended job "
      "in Slurm's accounting."};
  app.add_option("JOBID", number,
                 "the job as squeue prints it: 4711, 9_1 (task 1 of array 9), "
                 "20+1 (component 1 of heterogeneous job 20)")
      ->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return penstock::run(number);
}
