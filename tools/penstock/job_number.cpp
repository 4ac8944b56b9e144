#include "tools/penstock/job_number.h"

#include <algorithm>
#include <charconv>

#include "common/node_list.h"
#include "common/units.h"
#include "tools/doctor/bounded.h"

namespace penstock {
namespace {

constexpr int kSlurm_ms = 5000;
constexpr size_t kMostStepBytes = 32;
constexpr size_t kMostSaidBytes = 120;

// Takes a number from the front of the text; nullopt: there is none.
std::optional<uint32_t> take_number(std::string_view& text) {
  uint32_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(size_t(end - text.data()));
  return value;
}

// Takes the mark and a number after it; false: the number is missing.
bool take_part(char mark, std::string_view& text, bool& found) {
  if (text.empty() || text.front() != mark) return true;
  text.remove_prefix(1);
  found = true;
  return take_number(text).has_value();
}

bool is_step(std::string_view text) {
  return !text.empty() && text.size() <= kMostStepBytes &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                  c == '_' || c == '+';
         });
}

// The value of NAME=VALUE in a line of scontrol; "": there is none.
std::string value_of(const std::string& line, const std::string& name) {
  size_t at = line.find(name + "=");
  // Not the end of a longer name.
  while (at != line.npos && at > 0 && line[at - 1] != ' ') {
    at = line.find(name + "=", at + 1);
  }
  if (at == line.npos) return "";
  at += name.size() + 1;
  return line.substr(at, line.find_first_of(" \n", at) - at);
}

std::optional<uint32_t> whole_number(std::string_view text) {
  const auto value = take_number(text);
  return text.empty() ? value : std::nullopt;
}

Result<KnownJob> by_sacct(const JobNumber& number) {
  const Result<std::string> said = doctor::output_of_program(
      {"sacct", "-X", "-n", "-P", "-o", "JobIDRaw,State", "-j", number.text},
      kSlurm_ms);
  if (!said) return said.error();
  const size_t bar = said->find('|');
  if (const auto id = whole_number(said->substr(0, bar))) {
    return KnownJob{*id, said->substr(bar + 1, said->find('\n') - bar - 1), {}};
  }
  return Error{Code::kNotFound, 0, *said};
}

}  // namespace

Result<JobNumber> parse_job_number(std::string_view text) {
  JobNumber out;
  std::string_view rest = text;
  const auto first = take_number(rest);
  bool is_of_other = false;
  const bool is_whole = first && *first > 0 &&
                        take_part('_', rest, is_of_other) &&
                        take_part('+', rest, is_of_other);
  out.text = std::string(text.substr(0, text.size() - rest.size()));
  if (is_whole && rest.starts_with('.') && is_step(rest.substr(1))) rest = {};
  if (!is_whole || !rest.empty()) {
    return invalid(quoted(std::string(text)) +
                   ": not a job's number; allowed: as squeue prints it, JOBID, "
                   "JOBID_TASK of an array, JOBID+COMPONENT of a heterogeneous "
                   "job, each with .STEP or without");
  }
  if (!is_of_other) out.id = first;
  return out;
}

Result<KnownJob> ask_slurmctld(const JobNumber& number) {
  const Result<std::string> said = doctor::output_of_program(
      {"scontrol", "-o", "show", "job", number.text}, kSlurm_ms);
  if (!said) return said.error();
  if (const auto id = whole_number(value_of(*said, "JobId"))) {
    KnownJob out{*id, value_of(*said, "JobState"), {}};
    auto nodes = expand_node_list(value_of(*said, "NodeList"));
    if (nodes && nodes->front() != "(null)") out.nodes = *std::move(nodes);
    return out;
  }
  const bool is_unknown = said->find("Invalid job id") != said->npos;
  return Error{is_unknown ? Code::kNotFound : Code::kUnavailable, 0, *said};
}

Result<KnownJob> ask_slurm(const JobNumber& number) {
  Result<KnownJob> found = ask_slurmctld(number);
  if (found) return found;
  Result<KnownJob> ended = by_sacct(number);
  if (ended) return ended;
  const char* remedy = ": give the number that SLURM_JOB_ID had in it";
  for (const Error* error : {&found.error(), &ended.error()}) {
    if (error->code != Code::kUnavailable) continue;
    return Error{
        Code::kUnavailable, 0,
        "Slurm does not tell its number (" +
            printable(error->message.substr(0, error->message.find('\n')),
                      kMostSaidBytes) +
            ")" + remedy};
  }
  return Error{Code::kNotFound, 0,
               "Slurm knows no job " + number.text +
                   " (scontrol show job, sacct)" + remedy};
}

}  // namespace penstock
