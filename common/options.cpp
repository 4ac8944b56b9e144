#include "common/options.h"

#include <cmath>
#include <cstring>

#include "common/units.h"
#include "common/wire_text.h"

namespace penstock {
namespace {

constexpr uint64_t kMaxThreads = 4096;
constexpr uint64_t kMaxBatch = 1000000;
constexpr uint64_t kMaxRate = uint64_t{1} << 62;
constexpr double kMinWeight = 0.001;  // the wire carries thousandths

bool is_printable(std::string_view text) {
  for (char c : text)
    if (c < ' ' || c > '~') return false;
  return true;
}

bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos;
}

bool valid_model(std::string_view value) {
  if (!is_path(value)) return is_name(value);
  return value.size() < sizeof(penstock_wire_options::model) &&
         is_printable(value);
}

bool valid_share(std::string_view value) {
  return is_name(value) && value.front() != '.';
}

bool valid_match(std::string_view value) {
  return !value.empty() &&
         value.size() < sizeof(penstock_wire_options::match) &&
         is_printable(value);
}

// The words of an option, by the field's value; the first is for "not given".
constexpr const char* kModes[] = {"", "auto", "off", "guest"};
constexpr const char* kWatches[] = {"", "auto", "off"};
constexpr const char* kElastics[] = {"", "exact", "seeded", "off"};
constexpr const char* kReports[] = {"", "text", "json", "none"};

template <size_t N>
bool store_word(std::string_view value, const char* const (&words)[N],
                uint32_t& field) {
  for (uint32_t i = 1; i < N; ++i) {
    if (value != words[i]) continue;
    field = i;
    return true;
  }
  return false;
}

template <size_t N>
std::string word_of(uint32_t field, const char* const (&words)[N]) {
  return field < N ? words[field] : "";
}

// Stores a number, or "auto" in a field of its own.
template <class T>
bool store_or_auto(std::string_view value, const Result<uint64_t>& number,
                   T& field, uint32_t& auto_field) {
  const bool is_auto = value == "auto";
  if (!is_auto && !number) return false;
  auto_field = is_auto ? 1 : 0;
  field = is_auto ? 0 : static_cast<T>(*number);
  return true;
}

std::string number_or_auto(uint64_t number, uint32_t is_auto) {
  if (is_auto != 0) return "auto";
  return number > 0 ? std::to_string(number) : "";
}

template <size_t N>
bool store_text(bool is_valid, std::string_view value, char (&field)[N]) {
  if (is_valid) set_field(field, value);
  return is_valid;
}

uint32_t to_milli(double weight) {
  return static_cast<uint32_t>(std::lround(weight * 1000));
}

using Options = penstock_wire_options;

constexpr OptionSpec kSpecs[kOptionCount] = {
    {"loader", "PENSTOCK_LOADER", "_SLURM_SPANK_OPTION_penstock_loader",
     "auto|off|guest",
     "manage the loader or not, or give way to all other jobs",
     "auto, off or guest",
     [](std::string_view value, const OptionLimits&, Options& o) {
       return store_word(value, kModes, o.mode);
     },
     [](const Options& o) { return word_of(o.mode, kModes); }},
    {"loader-threads", "PENSTOCK_LOADER_THREADS",
     "_SLURM_SPANK_OPTION_penstock_loader_threads", "N|auto",
     "loader threads to run on the job's own CPUs", "1 to 4096, or auto",
     [](std::string_view value, const OptionLimits&, Options& o) {
       return store_or_auto(value, parse_uint(value, 1, kMaxThreads), o.threads,
                            o.threads_auto);
     },
     [](const Options& o) {
       return number_or_auto(o.threads, o.threads_auto);
     }},
    {"loader-bw", "PENSTOCK_LOADER_BW",
     "_SLURM_SPANK_OPTION_penstock_loader_bw", "RATE|auto",
     "storage bytes/s that the loader needs, e.g. 200M",
     "a number over 0 with K, M, G or T, such as 200M, or auto",
     [](std::string_view value, const OptionLimits&, Options& o) {
       return store_or_auto(value, parse_rate_bytes_per_s(value),
                            o.bw_bytes_per_s, o.bw_auto);
     },
     [](const Options& o) {
       return number_or_auto(o.bw_bytes_per_s, o.bw_auto);
     }},
    {"loader-model", "PENSTOCK_LOADER_MODEL",
     "_SLURM_SPANK_OPTION_penstock_loader_model", "NAME|FILE",
     "profile that predicts what the job needs",
     "a name of 1 to 64 letters, digits, '.', '_' or '-', or a file's path "
     "(with a '/', under 256 bytes, printable)",
     [](std::string_view value, const OptionLimits&, Options& o) {
       return store_text(valid_model(value), value, o.model);
     },
     [](const Options& o) { return std::string(fixed_text(o.model)); }},
    {"loader-batch", "PENSTOCK_LOADER_BATCH",
     "_SLURM_SPANK_OPTION_penstock_loader_batch", "N",
     "samples per batch of a job that only reports steps", "1 to 1000000",
     [](std::string_view value, const OptionLimits&, Options& o) {
       const auto batch = parse_uint(value, 1, kMaxBatch);
       if (batch) o.batch = static_cast<uint32_t>(*batch);
       return batch.ok();
     },
     [](const Options& o) { return number_or_auto(o.batch, 0); }},
    {"loader-weight", "PENSTOCK_LOADER_WEIGHT",
     "_SLURM_SPANK_OPTION_penstock_loader_weight", "W",
     "this job's weight in the competition for CPUs and bandwidth",
     "0.001 to the MaxWeight that the admin set",
     [](std::string_view value, const OptionLimits& limits, Options& o) {
       const auto weight = parse_number(value, kMinWeight, limits.max_weight);
       if (weight) o.weight_milli = to_milli(*weight);
       return weight.ok();
     },
     [](const Options& o) {
       return o.weight_milli > 0 ? format_number(o.weight_milli / 1000.0) : "";
     }},
    {"loader-match", "PENSTOCK_LOADER_MATCH",
     "_SLURM_SPANK_OPTION_penstock_loader_match", "PATTERN",
     "thread name or command line of the loader, e.g. 'dali*'",
     "1 to 63 printable ASCII characters; * and ? are wildcards",
     [](std::string_view value, const OptionLimits&, Options& o) {
       return store_text(valid_match(value), value, o.match);
     },
     [](const Options& o) { return std::string(fixed_text(o.match)); }},
    {"loader-share", "PENSTOCK_LOADER_SHARE",
     "_SLURM_SPANK_OPTION_penstock_loader_share", "NAME",
     "share of your jobs that prepares each batch once",
     "1 to 64 letters, digits, '.', '_' or '-', no dot in front",
     [](std::string_view value, const OptionLimits&, Options& o) {
       return store_text(valid_share(value), value, o.share);
     },
     [](const Options& o) { return std::string(fixed_text(o.share)); }},
    {"loader-watch", "PENSTOCK_LOADER_WATCH",
     "_SLURM_SPANK_OPTION_penstock_loader_watch", "auto|off",
     "measure unmodified Python scripts, or leave them alone", "auto or off",
     [](std::string_view value, const OptionLimits&, Options& o) {
       return store_word(value, kWatches, o.watch);
     },
     [](const Options& o) { return word_of(o.watch, kWatches); }},
    {"loader-elastic", "PENSTOCK_LOADER_ELASTIC",
     "_SLURM_SPANK_OPTION_penstock_loader_elastic", "exact|seeded|off",
     "PyTorch workers that follow the grant within an epoch",
     "exact, seeded or off",
     [](std::string_view value, const OptionLimits&, Options& o) {
       return store_word(value, kElastics, o.elastic);
     },
     // A step in a batch script has the site's choice in the same variable.
     [](const Options&) { return std::string(); }},
    {"loader-report", "PENSTOCK_LOADER_REPORT",
     "_SLURM_SPANK_OPTION_penstock_loader_report", "text|json|none",
     "form of the report that the job leaves", "text, json or none",
     [](std::string_view value, const OptionLimits&, Options& o) {
       return store_word(value, kReports, o.report_format);
     },
     [](const Options& o) {
       const bool is_none = o.report_format == PENSTOCK_REPORT_NONE;
       return is_none ? std::string() : word_of(o.report_format, kReports);
     }},
};

Error out_of_range(const char* field, const char* allowed) {
  return invalid(std::string(field) + ": out of range; allowed: " + allowed);
}

// Returns an error for the first number out of range.
Status check_numbers(const penstock_wire_options& options,
                     const OptionLimits& limits) {
  if (options.mode > PENSTOCK_MODE_GUEST) return out_of_range("mode", "0 to 3");
  if (options.report_format > PENSTOCK_REPORT_NONE)
    return out_of_range("report_format", "0 to 3");
  if (options.threads > kMaxThreads)
    return out_of_range("threads", "0 to 4096");
  if (options.threads_auto > (options.threads ? 0u : 1u))
    return out_of_range("threads_auto", "0, or 1 where threads is 0");
  if (options.bw_bytes_per_s > kMaxRate)
    return out_of_range("bw_bytes_per_s", "0 to 2^62");
  if (options.bw_auto > (options.bw_bytes_per_s ? 0u : 1u))
    return out_of_range("bw_auto", "0, or 1 where bw_bytes_per_s is 0");
  if (options.batch > kMaxBatch) return out_of_range("batch", "0 to 1000000");
  if (options.weight_milli > to_milli(limits.max_weight))
    return out_of_range("weight_milli", "0 to 1000 x MaxWeight");
  if (options.watch > PENSTOCK_WATCH_OFF)
    return out_of_range("watch", "0 to 2");
  if (options.elastic > PENSTOCK_ELASTIC_OFF)
    return out_of_range("elastic", "0 to 3");
  if (options.reserved != 0) return out_of_range("reserved", "0");
  return Done{};
}

}  // namespace

const OptionSpec& option_spec(int index) { return kSpecs[index]; }

std::string option_flag(int index) {
  return std::string("--") + kSpecs[index].name;
}

Status apply_option(int index, std::string_view value,
                    const OptionLimits& limits,
                    penstock_wire_options& options) {
  if (index < 0 || index >= kOptionCount)
    return invalid("no option has the number " + std::to_string(index));
  const OptionSpec& spec = kSpecs[index];
  if (spec.store(value, limits, options)) return Done{};
  std::string allowed = spec.allowed;
  if (index == kOptionWeight)
    allowed += " (" + format_number(limits.max_weight) + ")";
  return invalid(option_flag(index) + "=" + printable(value) +
                 ": not valid; allowed: " + allowed);
}

Status check_options(const penstock_wire_options& options,
                     const OptionLimits& limits) {
  if (Status status = check_numbers(options, limits); !status) return status;
  std::string_view model;
  if (!printable_field(options.model, model) ||
      (!model.empty() && !valid_model(model)))
    return out_of_range("model", kSpecs[kOptionModel].allowed);
  if (is_path(model) && model.front() != '/')
    return out_of_range("model", "a path that begins with '/'");
  std::string_view match;
  if (!printable_field(options.match, match) ||
      (!match.empty() && !valid_match(match)))
    return out_of_range("match", kSpecs[kOptionMatch].allowed);
  std::string_view share;
  if (!printable_field(options.share, share) ||
      (!share.empty() && !valid_share(share)))
    return out_of_range("share", kSpecs[kOptionShare].allowed);
  return Done{};
}

const char* value_for_job(int index, const penstock_wire_options& options) {
  if (index == kOptionShare) return options.share;
  return index == kOptionElastic ? kElastics[options.elastic] : "";
}

bool asks_for_management(const penstock_wire_options& options) {
  constexpr penstock_wire_options kNone{};
  return options.mode != PENSTOCK_MODE_OFF &&
         std::memcmp(&options, &kNone, sizeof kNone) != 0;
}

bool asks_for_watching(const penstock_wire_options& options) {
  return asks_for_management(options) && options.watch != PENSTOCK_WATCH_OFF;
}

bool matches_loader(std::string_view pattern, std::string_view text) {
  size_t at = 0, read = 0;
  // Position of the last '*' and the end of the text that it matches so far. On
  // a mismatch it matches one byte more; earlier stars need no second try.
  size_t star = std::string_view::npos, taken = 0;
  while (read < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken = read;
    } else if (at < pattern.size() &&
               (pattern[at] == '?' || pattern[at] == text[read])) {
      ++at;
      ++read;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      read = ++taken;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace penstock
