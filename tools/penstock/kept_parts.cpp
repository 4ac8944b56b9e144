#include "tools/penstock/kept_parts.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "common/hex.h"
#include "common/units.h"
#include "report/packed.h"
#include "report/text.h"
#include "tools/penstock/controller_client.h"

namespace penstock {
namespace {

Result<JobReport> report_in(const nlohmann::json& row, uint32_t job_id) {
  const auto packed = from_hex(row.at("packed").get<std::string>());
  if (!packed) return invalid("it is not hexadecimal");
  Result<JobReport> report = unpack_report(*packed);
  if (report && report->job_id != job_id) {
    return invalid("it is of job " + std::to_string(report->job_id));
  }
  return report;
}

// A controller of an earlier release does not tell the age.
double age_of(const nlohmann::json& row, const nlohmann::json& page) {
  return page.at("time_unix_s").get<double>() -
         row.value("kept_unix_s", page.at("time_unix_s").get<double>());
}

Status add_parts_of(size_t controller, uint32_t job_id, const Config& config,
                    Credentials& credentials, KeptParts& out) {
  const ControllerAddress& address = config.controllers[controller];
  ControllerQuery query;
  query.what = ControllerQuery::What::kReports;
  query.job_id = job_id;
  const auto add = [&](const nlohmann::json& row, const nlohmann::json& page) {
    Result<JobReport> report = report_in(row, job_id);
    if (report) {
      const double updated_unix_s = report->updated_unix_s;
      KeptPart& part = out.parts.emplace_back(
          KeptPart{*std::move(report), age_of(row, page)});
      if (row.contains("kept_unix_s")) {
        part.clock_ahead_s =
            updated_unix_s - row.at("kept_unix_s").get<double>();
        part.controller = controller;
      }
      return;
    }
    out.faults.push_back(std::move(report).error().wrap(
        "that of " + printable(row.at("node").get<std::string>()) +
        ", as penstockctld at " + address.to_string() + " keeps it"));
  };
  return ask_pages({{address}, trust_in_controllers(config)}, query,
                   credentials, [&](const nlohmann::json& page) {
                     for (const auto& row : page.at("reports")) add(row, page);
                     const auto label = page.value("label", nlohmann::json());
                     if (label.is_string() && out.label.empty()) {
                       out.label = label;
                     }
                     const auto restarts =
                         page.value("restarts", nlohmann::json());
                     if (restarts.is_number_unsigned()) {
                       out.restarts = std::max(out.restarts.value_or(0),
                                               restarts.get<uint32_t>());
                     }
                     return page.at("next").is_null() ? 0 : kMaxQueryRows;
                   });
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    out += (out.empty() ? "" : ", ") + printable(name);
  }
  return out;
}

// The latest part of each node: others of it are of earlier runs, or older.
std::map<std::string, KeptPart*> latest_of(std::vector<KeptPart>& parts) {
  std::map<std::string, KeptPart*> out;
  for (KeptPart& part : parts) {
    KeptPart*& latest = out[part.report.node];
    if (latest == nullptr ||
        latest->report.updated_unix_s < part.report.updated_unix_s) {
      latest = &part;
    }
  }
  return out;
}

}  // namespace

KeptParts ask_for_parts(uint32_t job_id, const Config& config) {
  KeptParts out;
  MungeCredentials credentials(config.munge_socket);
  for (size_t i = 0; i < config.controllers.size(); ++i) {
    Status asked = add_parts_of(i, job_id, config, credentials, out);
    if (!asked) out.faults.push_back(std::move(asked).error());
  }
  return out;
}

std::map<std::string, double> clocks_of(const KeptParts& kept) {
  if (kept.restarts != 0u) return {};
  std::map<size_t, std::map<std::string, const KeptPart*>> by_controller;
  for (const KeptPart& part : kept.parts) {
    if (!part.clock_ahead_s) continue;
    const KeptPart*& latest = by_controller[part.controller][part.report.node];
    const bool is_newer = latest == nullptr || latest->report.updated_unix_s <
                                                   part.report.updated_unix_s;
    if (is_newer) latest = &part;
  }
  const auto most = std::max_element(by_controller.begin(), by_controller.end(),
                                     [](const auto& a, const auto& b) {
                                       return a.second.size() < b.second.size();
                                     });
  std::map<std::string, double> out;
  if (most == by_controller.end()) return out;
  for (const auto& [node, part] : most->second) {
    out[node] = *part->clock_ahead_s;
  }
  return out;
}

bool is_alive(const std::string& state) {
  static const char* const kAlive[] = {"PENDING", "RUNNING", "SUSPENDED",
                                       "CONFIGURING", "REQUEUED"};
  return std::find(std::begin(kAlive), std::end(kAlive), state) !=
         std::end(kAlive);
}

std::vector<std::string> settle_parts(std::vector<KeptPart>& parts,
                                      const std::string& state,
                                      const std::vector<std::string>& nodes) {
  std::vector<std::string> silent, cut, late;
  for (const auto& [node, latest] : latest_of(parts)) {
    if (!latest->report.running) continue;
    if (!nodes.empty() &&
        std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
      latest->report.running = false;
      continue;
    }
    const bool is_silent = latest->age_s > kSilent_s;
    const bool is_over = state.empty() ? is_silent : !is_alive(state);
    if (is_over) {
      (is_silent ? cut : late).push_back(node);
    } else if (is_silent) {
      silent.push_back(node);
    }
    if (!is_over || !is_silent) continue;
    latest->report.running = false;
    latest->report.end_unix_s = latest->report.updated_unix_s;
  }
  std::vector<std::string> notes;
  if (!silent.empty()) {
    notes.push_back("no controller has heard of the job on " + joined(silent) +
                    " for more than " + duration_text(kSilent_s) +
                    ": its part is of before");
  }
  if (!late.empty()) {
    notes.push_back("the job is " + state + "; what penstockd on " +
                    joined(late) + " tells of its end is on its way");
  }
  if (!cut.empty()) {
    notes.push_back("penstockd on " + joined(cut) +
                    " did not tell the job's end: its part ends before");
  }
  return notes;
}

}  // namespace penstock
