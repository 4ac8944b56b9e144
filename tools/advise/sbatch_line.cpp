#include "tools/advise/sbatch_line.h"

#include <getopt.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "common/options.h"
#include "common/units.h"

namespace penstock::advise {
namespace {

using Value = SbatchOption::Value;
constexpr Value kNone = Value::kNone;
constexpr Value kMay = Value::kMay;
constexpr Value kMust = Value::kMust;

constexpr SbatchOption kSlurmOptions[] = {
    {"account", 'A', kMust},
    {"acctg-freq", 0, kMust},
    {"array", 'a', kMust},
    {"batch", 0, kMust},
    {"bb", 0, kMust},
    {"bbf", 0, kMust},
    {"begin", 'b', kMust},
    {"chdir", 'D', kMust},
    {"cluster-constraint", 0, kMust},
    {"clusters", 'M', kMust},
    {"comment", 0, kMust},
    {"consolidate-segments", 0, kNone},
    {"constraint", 'C', kMust},
    {"container", 0, kMust},
    {"container-id", 0, kMust},
    {"contiguous", 0, kNone},
    {"core-spec", 'S', kMust},
    {"cores-per-socket", 0, kMust},
    {"cpu-freq", 0, kMust},
    {"cpus-per-gpu", 0, kMust},
    {"cpus-per-task", 'c', kMust},
    {"deadline", 0, kMust},
    {"delay-boot", 0, kMust},
    {"dependency", 'd', kMust},
    {"distribution", 'm', kMust},
    {"error", 'e', kMust},
    {"exclude", 'x', kMust},
    {"exclusive", 0, kMay},
    {"export", 0, kMust},
    {"export-file", 0, kMust},
    {"extra", 0, kMust},
    {"extra-node-info", 'B', kMust},
    {"get-user-env", 0, kMay},
    {"gid", 0, kMust},
    {"gpu-bind", 0, kMust},
    {"gpu-freq", 0, kMust},
    {"gpus", 'G', kMust},
    {"gpus-per-node", 0, kMust},
    {"gpus-per-socket", 0, kMust},
    {"gpus-per-task", 0, kMust},
    {"gres", 0, kMust},
    {"gres-flags", 0, kMust},
    {"help", 'h', kNone},
    {"hint", 0, kMust},
    {"hold", 'H', kNone},
    {"ignore-pbs", 0, kNone},
    {"input", 'i', kMust},
    {"job-name", 'J', kMust},
    {"kill-on-invalid-dep", 0, kMust},
    {"licenses", 'L', kMust},
    {"mail-type", 0, kMust},
    {"mail-user", 0, kMust},
    {"mcs-label", 0, kMust},
    {"mem", 0, kMust},
    {"mem-bind", 0, kMust},
    {"mem-per-cpu", 0, kMust},
    {"mem-per-gpu", 0, kMust},
    {"mincpus", 0, kMust},
    {"network", 0, kMust},
    {"nice", 0, kMay},
    {"no-kill", 'k', kMay},
    {"no-requeue", 0, kNone},
    {"nodefile", 'F', kMust},
    {"nodelist", 'w', kMust},
    {"nodes", 'N', kMust},
    {"ntasks", 'n', kMust},
    {"ntasks-per-core", 0, kMust},
    {"ntasks-per-gpu", 0, kMust},
    {"ntasks-per-node", 0, kMust},
    {"ntasks-per-socket", 0, kMust},
    {"oom-kill-step", 0, kMay},
    {"open-mode", 0, kMust},
    {"output", 'o', kMust},
    {"overcommit", 'O', kNone},
    {"oversubscribe", 's', kNone},
    {"parsable", 0, kNone},
    {"partition", 'p', kMust},
    {"power", 0, kMust},
    {"prefer", 0, kMust},
    {"priority", 0, kMust},
    {"profile", 0, kMust},
    {"propagate", 0, kMay},
    {"qos", 'q', kMust},
    {"quiet", 'Q', kNone},
    {"reboot", 0, kNone},
    {"requeue", 0, kNone},
    {"reservation", 0, kMust},
    {"resv-ports", 0, kMay},
    {"segment", 0, kMust},
    {"signal", 0, kMust},
    {"sockets-per-node", 0, kMust},
    {"spread-job", 0, kNone},
    {"spread-segments", 0, kNone},
    {"stepmgr", 0, kNone},
    {"switches", 0, kMust},
    {"tasks-per-node", 0, kMust},
    {"test-only", 0, kNone},
    {"thread-spec", 0, kMust},
    {"threads-per-core", 0, kMust},
    {"time", 't', kMust},
    {"time-min", 0, kMust},
    {"tmp", 0, kMust},
    {"tres-bind", 0, kMust},
    {"tres-per-task", 0, kMust},
    {"uid", 0, kMust},
    {"usage", 0, kNone},
    {"use-min-nodes", 0, kNone},
    {"verbose", 'v', kNone},
    {"version", 'V', kNone},
    {"wait", 'W', kNone},
    {"wait-all-nodes", 0, kMust},
    {"wckey", 0, kMust},
    {"wrap", 0, kMust},
};

constexpr const char* kArguments = "sbatch's arguments";
constexpr int kFirstLong = 256;  // of getopt_long's values: no letter

int has_argument(Value value) {
  return value == kMust  ? required_argument
         : value == kMay ? optional_argument
                         : no_argument;
}

// The tables that getopt_long takes.
struct Getopt {
  // ':' in front: a missing value is told from an unknown option.
  std::string letters = "+:";
  std::vector<option> names;
};

Getopt make_getopt() {
  Getopt out;
  const std::vector<SbatchOption>& options = sbatch_options();
  for (size_t i = 0; i < options.size(); ++i) {
    const SbatchOption& it = options[i];
    out.names.push_back(
        {it.name, has_argument(it.value), nullptr, kFirstLong + int(i)});
    if (it.letter == '\0') continue;
    out.letters += it.letter;
    if (it.value != kNone) out.letters += it.value == kMust ? ":" : "::";
  }
  out.names.push_back({nullptr, 0, nullptr, 0});
  return out;
}

const SbatchOption* option_of(int found) {
  const std::vector<SbatchOption>& options = sbatch_options();
  if (found >= kFirstLong) return &options[size_t(found - kFirstLong)];
  const auto it = std::find_if(
      options.begin(), options.end(),
      [found](const SbatchOption& one) { return one.letter == char(found); });
  return it == options.end() ? nullptr : &*it;
}

Error heterogeneous(const std::string& where) {
  return invalid(where +
                 ": a heterogeneous job: advise knows jobs of one component; "
                 "ask for each component with its options alone");
}

// where: of each option.
Status add_words(const std::vector<std::string>& words,
                 const std::string& where, SbatchLine& line) {
  static const Getopt* const kGetopt = new Getopt(make_getopt());
  std::vector<std::string> held = words;
  std::string program = "sbatch";
  std::vector<char*> argv = {program.data()};
  for (std::string& word : held) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = int(argv.size()) - 1;
  ::optind = 0;  // glibc's way to begin anew
  ::opterr = 0;
  while (true) {
    const int before = std::max(1, ::optind);
    const int found = ::getopt_long(argc, argv.data(), kGetopt->letters.c_str(),
                                    kGetopt->names.data(), nullptr);
    if (found == -1) break;
    const std::string word = argv[before];
    if (found == ':') {
      return invalid(where + ": " + printable(word) + ": its value is missing");
    }
    const SbatchOption* option = found == '?' ? nullptr : option_of(found);
    if (option == nullptr) {
      line.unknown.push_back(word.substr(0, word.find('=')));
      continue;
    }
    line.options.push_back(
        {option->name, ::optarg == nullptr ? "" : ::optarg, where});
  }
  for (int i = ::optind; i < argc; ++i) line.rest.emplace_back(argv[i]);
  return Done{};
}

// The words of a line, as a shell would take them, up to a '#'. nullopt: a
// quote does not end.
std::optional<std::vector<std::string>> words_of(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0' && c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
      in_word = true;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (quote == '\0' && (c == ' ' || c == '\t' || c == '\r')) {
      if (in_word) out.push_back(std::exchange(word, ""));
      in_word = false;
    } else if (quote == '\0' && c == '#' && !in_word) {
      break;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != '\0') return std::nullopt;
  if (in_word) out.push_back(word);
  return out;
}

Status add_directive(std::string_view text, const std::string& where,
                     SbatchLine& line) {
  const auto words = words_of(text);
  if (!words) return invalid(where + ": a quote does not end");
  for (const std::string& word : *words) {
    if (word == "hetjob" || word == "packjob") return heterogeneous(where);
  }
  SbatchLine found;
  Status added = add_words(*words, where, found);
  if (!added) return added;
  std::move(found.options.begin(), found.options.end(),
            std::back_inserter(line.options));
  std::move(found.unknown.begin(), found.unknown.end(),
            std::back_inserter(line.unknown));
  return Done{};
}

}  // namespace

const std::vector<SbatchOption>& sbatch_options() {
  static const auto* const kOptions = [] {
    auto* out = new std::vector<SbatchOption>(std::begin(kSlurmOptions),
                                              std::end(kSlurmOptions));
    for (int i = 0; i < kOptionCount; ++i) {
      out->push_back({option_spec(i).name, 0, kMust});
    }
    out->push_back({kAdviseOption, 0, kNone});
    return out;
  }();
  return *kOptions;
}

Result<SbatchLine> parse_sbatch_line(const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), ":") != words.end()) {
    return heterogeneous(kArguments);
  }
  SbatchLine out;
  Status added = add_words(words, kArguments, out);
  if (!added) return std::move(added).error();
  return out;
}

Status add_script_options(std::string_view script, const std::string& file,
                          SbatchLine& line) {
  constexpr std::string_view kMark = "#SBATCH";
  int number = 0;
  while (!script.empty()) {
    const size_t end = script.find('\n');
    const std::string_view text = script.substr(0, end);
    script.remove_prefix(end == script.npos ? script.size() : end + 1);
    ++number;
    if (text.starts_with(kMark)) {
      Status added = add_directive(text.substr(kMark.size()),
                                   file + ":" + std::to_string(number), line);
      if (!added) return added;
      continue;
    }
    const size_t first = text.find_first_not_of(" \t\r");
    if (first != text.npos && text[first] != '#') break;
  }
  return Done{};
}

}  // namespace penstock::advise
