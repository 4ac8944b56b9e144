#include "tools/penstock/slurm_job.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "common/node_list.h"
#include "common/units.h"
#include "tools/doctor/bounded.h"

namespace penstock {
namespace {

constexpr int kSlurm_ms = 5000;
constexpr size_t kMostSaidBytes = 120;

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
  uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || read != end) return std::nullopt;
  return value;
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
