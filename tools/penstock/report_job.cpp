#include "tools/penstock/report_job.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>
#include <ostream>
#include <set>
#include <vector>

#include "common/options.h"
#include "common/unique_fd.h"
#include "common/units.h"
#include "report/html_report.h"
#include "report/json.h"
#include "report/last_run.h"
#include "report/merge.h"
#include "report/summary.h"
#include "tools/penstock/client.h"
#include "tools/penstock/kept_parts.h"
#include "tools/penstock/live_view.h"
#include "tools/penstock/read_file.h"
#include "tools/penstock/slurm_job.h"
#include "tools/penstock/timeline_csv.h"
#include "tools/penstock/user_names.h"
#include "tools/penstock/write_page.h"

namespace penstock {
namespace {

Error damaged(const std::string& path, const std::string& why) {
  return invalid(path + ": " + why +
                 "; the file is damaged, or of another version of Penstock: "
                 "the .txt beside it may have the same report, and penstock "
                 "history the controller's record");
}

// Who writes the reports: the directory's owner, if nobody else can write
// there. Otherwise root alone is trusted.
uid_t writer_of(const std::string& report_dir) {
  struct stat found {};
  const bool is_closed = ::stat(report_dir.c_str(), &found) == 0 &&
                         (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return is_closed ? found.st_uid : 0;
}

// A user can change a file of his own, so root does not rely on it.
Result<std::string> read_report(const std::string& path, uid_t writer) {
  // O_NONBLOCK: opening a FIFO must not block.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0) {
    return system_error(errno, path);
  }
  if (::geteuid() == 0 && found.st_uid != 0 && found.st_uid != writer) {
    return invalid(path + ": belongs to user " + std::to_string(found.st_uid) +
                   ", who may have changed it; read it as that user");
  }
  return read_descriptor(file.get(), path, kMaxReportJsonBytes);
}

Result<JobReport> report_in(const std::string& path, uint32_t job_id,
                            uid_t writer) {
  Result<std::string> text = read_report(path, writer);
  if (!text && text.error().code == Code::kLimit) {
    return damaged(path, text.error().message);
  }
  if (!text) return std::move(text).error();
  Result<JobReport> report = parse_report(*text);
  if (!report) return damaged(path, report.error().message);
  if (report->job_id != job_id) {
    return damaged(path,
                   "the report is of job " + std::to_string(report->job_id));
  }
  return report;
}

// Whether the name is NODE.N.json, of an earlier run on a node whose last
// report is there, too.
bool is_earlier_run(const std::string& name,
                    const std::set<std::string>& names) {
  const size_t json = name.size() - std::strlen(".json");
  const size_t dot = name.rfind('.', json - 1);
  if (dot == name.npos || dot == 0) return false;
  const std::string number = name.substr(dot + 1, json - dot - 1);
  return !number.empty() &&
         number.find_first_not_of("0123456789") == number.npos &&
         names.contains(name.substr(0, dot) + ".json");
}

// The files of the job's nodes, in the order of their names. Nodes of version
// 0.1 wrote JOBID.json beside the job's directory.
Result<std::vector<std::string>> report_files(uint32_t job_id,
                                              const std::string& report_dir) {
  const std::string directory = report_dir + "/" + std::to_string(job_id);
  const std::string old = directory + ".json";
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(
      ::opendir(directory.c_str()), ::closedir);
  if (!listing && errno == ENOENT) return std::vector<std::string>{old};
  if (!listing) return system_error(errno, directory);
  std::set<std::string> names;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name.ends_with(".json")) names.insert(name);
  }
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (!is_earlier_run(name, names)) files.push_back(directory + "/" + name);
  }
  if (::access(old.c_str(), F_OK) == 0) files.push_back(old);
  if (files.empty()) return Error{Code::kNotFound, 0, directory + " is empty"};
  return files;
}

struct Parts {
  std::vector<JobReport> parts;
  std::vector<Error> faults;  // of parts that cannot be read
};

Result<Parts> finished_parts(uint32_t job_id, const Config& config) {
  const Result<std::vector<std::string>> files =
      report_files(job_id, config.report_dir);
  if (!files) return files.error();
  const uid_t writer = writer_of(config.report_dir);
  Parts out;
  for (const std::string& path : *files) {
    Result<JobReport> part = report_in(path, job_id, writer);
    if (part) {
      out.parts.push_back(*std::move(part));
    } else {
      out.faults.push_back(std::move(part).error());
    }
  }
  if (out.parts.empty()) return out.faults.front();
  return out;
}

Result<JobReport> running_report(uint32_t job_id, const Config& config) {
  Result<std::string> text = ask_status(config.socket_path, job_id);
  if (!text) return std::move(text).error();
  Result<JobReport> report = parse_report(*text);
  if (!report) return std::move(report).error().wrap("penstockd's answer");
  return report;
}

// The error for a job that neither runs nor has a report file.
// kept_faults: why controllers' parts are missing.
Error no_report(const JobNumber& number, const Config& config,
                const Error& running, const Error& finished,
                const std::vector<Error>& kept_faults) {
  std::string job = "job " + number.text;
  std::vector<Error> all = {finished, running};
  all.insert(all.end(), kept_faults.begin(), kept_faults.end());
  for (const Error& why : all) {
    if (why.code != Code::kPermissionDenied) continue;
    return Error{Code::kPermissionDenied, 0,
                 job + ": only its user may read its report (" + why.message +
                     "); ask as that user, or as root"};
  }
  if (finished.code != Code::kNotFound) return Error(finished).wrap(job);
  if (const Result<KnownJob> known = ask_slurm(number);
      known && known->state == "PENDING") {
    return Error{Code::kNotFound, 0, job + ": has not started yet (PENDING)"};
  }
  if (!kept_faults.empty()) {
    return Error(kept_faults.front()).wrap(job + ": no report here");
  }
  std::string hint =
      running.code == Code::kNotFound
          ? "this node runs no managed job of that number; a job is managed "
            "when it gives a " +
                option_flag(kOptionMode) + " flag, and reports with " +
                option_flag(kOptionReport) + "=text or json"
          : running.message + "; a running job is reported on its own node";
  return Error{running.code, 0,
               job + ": no report in " + config.report_dir + ", and " + hint};
}

// The job as Slurm knows it; an empty state: not known. A part that says that
// the job runs is worth asking Slurm's accounting, too.
KnownJob slurms_word(const JobNumber& number, uint32_t job_id,
                     const KeptParts& kept) {
  Result<KnownJob> known = ask_slurmctld(number);
  const bool is_open =
      std::any_of(kept.parts.begin(), kept.parts.end(),
                  [](const KeptPart& part) { return part.report.running; });
  if (!known && is_open) known = ask_slurm(number);
  // Slurm may answer with another task of the array.
  return known && known->id == job_id ? *std::move(known) : KnownJob{};
}

// Says what the report lacks of a job that Slurm knows.
void note_gaps(const KnownJob& known, bool has_kept, JobReport& report) {
  if (is_alive(known.state) && !report.running) {
    report.add_note("the job is " + known.state +
                    ": these are parts of steps that have ended, or of an "
                    "earlier run");
  } else if (report.running && has_kept && is_alive(known.state)) {
    report.add_note(
        "the job runs: parts of other nodes are up to a minute old");
  }
  std::string absent;
  for (const std::string& node : known.nodes) {
    const bool is_here =
        report.node == node ||
        std::any_of(report.nodes.begin(), report.nodes.end(),
                    [&](const NodePart& part) { return part.node == node; });
    if (!is_here) absent += (absent.empty() ? "" : ", ") + printable(node);
  }
  if (absent.empty()) return;
  report.add_note("missing: " + absent +
                  ": no managed task ran there, or its penstockd has not told "
                  "a controller");
}

// The parts that ran elsewhere, if this machine has their files or a controller
// has them, and the part that runs here. Parts that cannot be read are named in
// the notes.
// asks_controllers: false to save their time-outs while the job runs here.
Result<JobReport> any_report(const JobNumber& number, uint32_t job_id,
                             const Config& config, bool asks_controllers) {
  Result<JobReport> running = running_report(job_id, config);
  Result<Parts> finished = finished_parts(job_id, config);
  KeptParts kept;
  if (!running || asks_controllers) kept = ask_for_parts(job_id, config);
  if (!running && !finished && kept.parts.empty()) {
    return no_report(number, config, running.error(), finished.error(),
                     kept.faults);
  }
  const bool has_kept = !kept.parts.empty();
  KnownJob known;
  const bool asks_slurm = has_kept || (running && asks_controllers);
  if (asks_slurm) known = slurms_word(number, job_id, kept);
  std::vector<std::string> notes =
      settle_parts(kept.parts, known.state, known.nodes);

  std::vector<JobReport> parts;
  std::vector<Error> faults = std::move(kept.faults);
  if (running) parts.push_back(*std::move(running));  // before its file
  if (finished) {
    std::move(finished->parts.begin(), finished->parts.end(),
              std::back_inserter(parts));
    std::move(finished->faults.begin(), finished->faults.end(),
              std::back_inserter(faults));
  }
  auto clocks = clocks_of(kept);
  // After the files, whose time lines are finer.
  for (KeptPart& part : kept.parts) parts.push_back(std::move(part.report));
  JobReport report =
      merge_reports(parts_of_last_run(std::move(parts), std::move(clocks)));
  report.user = known_name_of_user(report.user_id);
  report.label = kept.label;
  if (asks_slurm) note_gaps(known, has_kept, report);
  for (std::string& note : notes) report.add_note(std::move(note));
  for (const Error& fault : faults) {
    // Of another user: a job that had the number before.
    if (fault.code == Code::kPermissionDenied) continue;
    report.add_note("a part is missing, or may be: " + fault.message);
  }
  return report;
}

Result<uint32_t> own_number(const JobNumber& number) {
  if (number.id) return *number.id;
  const Result<KnownJob> known = ask_slurm(number);
  if (!known) return Error(known.error()).wrap("job " + number.text);
  return known->id;
}

void print(const JobReport& report, bool json, Terminal& terminal) {
  terminal.out << (json ? to_json(report)
                        : render_text(report, terminal.style));
}

}  // namespace

Result<JobReport> find_report(const JobNumber& number, const Config& config) {
  const Result<uint32_t> job_id = own_number(number);
  if (!job_id) return job_id.error();
  return any_report(number, *job_id, config, /*asks_controllers=*/true);
}

Status run_report(const ReportArguments& arguments, const Config& config,
                  Terminal& terminal) {
  const Result<uint32_t> job_id = own_number(arguments.job);
  if (!job_id) return job_id.error();
  const auto ask = [&] {
    return any_report(arguments.job, *job_id, config, !arguments.follow);
  };
  Result<JobReport> report = ask();
  while (report && report->running && arguments.follow) {
    if (!arguments.json) start_view(terminal);
    print(*report, arguments.json, terminal);
    // Other machines know no more than once a minute.
    Terminal pace = terminal;
    if (::access(config.socket_path.c_str(), F_OK) != 0) pace.refresh_ms *= 10;
    end_view(pace);
    // penstockd writes the file before it forgets the job.
    report = ask();
    // The job wanted no report: it ends without a file.
    if (!report && (report.error().code == Code::kNotFound ||
                    report.error().code == Code::kUnavailable)) {
      return Done{};
    }
  }
  if (!report) return std::move(report).error();
  if (arguments.summary) {
    terminal.out << summary_json(*report) << "\n";
    return Done{};
  }
  if (arguments.csv) {
    terminal.out << timeline_csv(report->timeline);
    return Done{};
  }
  if (!arguments.html_file.empty()) {
    return write_page(render_html(*report), arguments.html_file, terminal);
  }
  if (arguments.follow && !arguments.json) start_view(terminal);
  print(*report, arguments.json, terminal);
  return Done{};
}

}  // namespace penstock
