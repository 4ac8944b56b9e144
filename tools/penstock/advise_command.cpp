// `penstock advise`.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "common/options.h"
#include "common/units.h"
#include "tools/advise/print.h"
#include "tools/penstock/advise_source.h"
#include "tools/penstock/command_options.h"
#include "tools/penstock/commands.h"
#include "tools/penstock/json_text.h"
#include "tools/penstock/read_file.h"

namespace penstock {
namespace {

constexpr size_t kMaxScriptBytes = size_t{4} << 20;  // Slurm's default limit

struct AdviseOptions {
  std::string script;
  std::string like;  // a job's number; "": the latest of the kind
  bool json = false;
  Site site;
};

// sbatch's words: those after "--", or the script alone.
Result<std::vector<std::string>> sbatch_words(
    const AdviseOptions& options, const std::vector<std::string>& command) {
  if (!options.script.empty() && !command.empty()) {
    return invalid(
        "advise: SCRIPT and \"--\": choose one; the words after "
        "\"--\" name the script too");
  }
  if (!options.script.empty()) return std::vector<std::string>{options.script};
  if (!command.empty()) return command;
  return invalid(
      "advise: a script is missing: penstock advise SCRIPT, or "
      "penstock advise -- SBATCH'S OPTIONS SCRIPT");
}

Result<std::optional<advise::Script>> script_of(
    const advise::SbatchLine& line) {
  if (line.rest.empty()) {
    for (const advise::GivenOption& option : line.options) {
      if (option.name == "wrap") return std::optional<advise::Script>();
    }
    return invalid(
        "advise: a script is missing; one from standard input is "
        "not read");
  }
  advise::Script out;
  out.path = line.rest[0];
  std::error_code ignored;
  out.absolute =
      std::filesystem::absolute(out.path, ignored).lexically_normal().string();
  Result<std::string> text = read_file(out.path, kMaxScriptBytes);
  if (!text) return std::move(text).error();
  out.text = *std::move(text);
  return std::optional<advise::Script>(std::move(out));
}

using Groups = std::optional<std::vector<advise::NodeGroup>>;

Result<advise::Advice> by_kind(const advise::Request& request,
                               const KnownKind& known, const Groups& groups) {
  Result<advise::Advice> out = Error{Code::kNotFound, 0, "no run has a report"};
  if (known.run) out = advise::advise_by_run(request, *known.run, groups);
  if (!out && out.error().code == Code::kNotFound && known.profile) {
    out = advise::advise_by_profile(request, *known.profile, groups);
    if (out) {
      out->basis = fmt::format(
          "the history of {} earlier run{}, {:.0f}% "
          "uncertain",
          known.runs, known.runs == 1 ? "" : "s",
          known.profile->relative_error * 100);
    }
  }
  if (!out) return out;
  if (known.is_of_name_only) {
    out->notes.insert(out->notes.begin(),
                      "no run had this script and these arguments: the one "
                      "above had the same job name");
  } else if (known.runs > 1) {
    out->notes.insert(
        out->notes.begin(),
        fmt::format("{} runs of this kind are known", known.runs));
  }
  return out;
}

Error nothing_known(const advise::Request& request, const Error& kind,
                    const Error& profile) {
  return Error{
      Code::kNotFound, 0,
      fmt::format("{}: nothing is known of it yet ({}; {}). Run it once for a "
                  "few minutes with {}=auto, then ask again; or name a job "
                  "that is like it with --like JOBID, or its model with {}",
                  printable(request.job_name), kind.message, profile.message,
                  option_flag(kOptionMode), option_flag(kOptionModel))};
}

Result<advise::Advice> find_advice(const AdviseOptions& options,
                                   const advise::Request& request,
                                   const Groups& groups, const Config& config) {
  if (!options.like.empty()) {
    Result<JobNumber> job = parse_job_number(options.like);
    if (!job) return std::move(job).error().wrap("--like");
    Result<advise::EarlierRun> run = run_of(*job, config);
    if (!run) return std::move(run).error().wrap("--like");
    return advise::advise_by_run(request, *run, groups);
  }
  const Result<KnownKind> known = known_kind(request, config);
  Result<advise::Advice> advice =
      known ? by_kind(request, *known, groups) : known.error();
  if (advice || (known && advice.error().code != Code::kNotFound)) {
    return advice;
  }
  const Result<Profile> profile = profile_of(request, groups, config);
  if (profile) return advise::advise_by_profile(request, *profile, groups);
  if (!request.model.empty()) {
    return Error(profile.error())
        .wrap(option_flag(kOptionModel) + "=" + printable(request.model));
  }
  return nothing_known(request, advice.error(), profile.error());
}

Status run_advise(const AdviseOptions& options, const Config& config,
                  Invocation& invocation) {
  Result<std::vector<std::string>> words =
      sbatch_words(options, invocation.command);
  if (!words) return std::move(words).error();
  Result<advise::SbatchLine> line = advise::parse_sbatch_line(*words);
  if (!line) return std::move(line).error();
  Result<std::optional<advise::Script>> script = script_of(*line);
  if (!script) return std::move(script).error();
  Result<advise::Request> request =
      advise::make_request(*line, *script, ::getenv);
  if (!request) return std::move(request).error();

  const Result<std::vector<advise::NodeGroup>> all = ask_for_nodes();
  Groups groups;
  if (all) {
    Result<std::vector<advise::NodeGroup>> mine =
        advise::nodes_for(*request, *all);
    if (!mine) return std::move(mine).error();
    groups = *std::move(mine);
    *request = advise::spread_over_nodes(*request, *groups);
  }
  Result<advise::Advice> advice =
      find_advice(options, *request, groups, config);
  if (!advice) return std::move(advice).error();
  if (!all) {
    advice->notes.push_back("Slurm does not tell the partition's nodes (" +
                            printable(all.error().message) + ")");
  }
  invocation.terminal.out
      << (options.json ? json_text(advise::advice_json(*request, *advice))
                       : advise::advice_text(*request, *advice,
                                             invocation.terminal.style));
  return Done{};
}

}  // namespace

Run add_advise(CLI::App* command) {
  auto it = std::make_shared<AdviseOptions>();
  command->add_option("SCRIPT", it->script,
                      "batch script; with options or arguments of its own, "
                      "give sbatch's whole line after --");
  command->add_option("--like", it->like,
                      "go by this job, instead of the latest of the same kind");
  command->add_flag("--json", it->json, "print JSON");
  command->footer(
      "Usage: penstock advise [--json] -- SBATCH'S OPTIONS SCRIPT...");
  add_site(command, it->site, false);
  return [it](Invocation& invocation) -> Status {
    const Result<Config> config = site_config(it->site);
    if (!config) return config.error();
    return run_advise(*it, *config, invocation);
  };
}

}  // namespace penstock
