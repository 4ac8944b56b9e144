#include "common/options.h"

#include <cmath>
#include <cstring>

#include "common/units.h"

namespace penstock {
namespace {

constexpr uint64_t kMaxThreads = 4096;
constexpr uint64_t kMaxBatch = 1000000;
constexpr uint64_t kMaxRate = uint64_t{1} << 62;
constexpr double kMinWeight = 0.001;  // the wire carries thousandths
constexpr size_t kMaxNameBytes = 64;

enum Index {
  kLoader,
  kThreads,
  kBw,
  kModel,
  kBatch,
  kWeight,
  kMatch,
  kShare,
  kReport,
};

constexpr OptionSpec kSpecs[kOptionCount] = {
    {"loader", "PENSTOCK_LOADER", "auto|off",
     "let Penstock feed the job's loader, or leave it be", "auto or off"},
    {"loader-threads", "PENSTOCK_LOADER_THREADS", "N|auto",
     "loader threads to run at home", "1 to 4096, or auto"},
    {"loader-bw", "PENSTOCK_LOADER_BW", "RATE|auto",
     "storage bytes/s that the loader needs, e.g. 200M",
     "a number over 0 with K, M, G or T, such as 200M, or auto"},
    {"loader-model", "PENSTOCK_LOADER_MODEL", "NAME|FILE",
     "profile that predicts what the job needs",
     "a name of 1 to 64 letters, digits, '.', '_' or '-', or a file's path "
     "(with a '/', under 256 bytes, printable)"},
    {"loader-batch", "PENSTOCK_LOADER_BATCH", "N",
     "samples per batch, where the job only reports its steps", "1 to 1000000"},
    {"loader-weight", "PENSTOCK_LOADER_WEIGHT", "W",
     "this job's weight where jobs compete",
     "0.001 to the MaxWeight that the admin set"},
    {"loader-match", "PENSTOCK_LOADER_MATCH", "PATTERN",
     "thread name or command line of the loader, e.g. 'dali*'",
     "1 to 63 printable ASCII characters; * and ? are wildcards"},
    {"loader-share", "PENSTOCK_LOADER_SHARE", "NAME",
     "share of your jobs that prepares each batch once",
     "1 to 64 letters, digits, '.', '_' or '-', no dot in front"},
    {"loader-report", "PENSTOCK_LOADER_REPORT", "text|json|none",
     "form of the report that the job leaves", "text, json or none"},
};

template <size_t N>
void store(std::string_view value, char (&field)[N]) {
  std::memset(field, 0, N);
  std::memcpy(field, value.data(), value.size());
}

bool is_printable(std::string_view text) {
  for (char c : text)
    if (c < ' ' || c > '~') return false;
  return true;
}

bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos;
}

bool is_name(std::string_view value) {
  if (value.empty() || value.size() > kMaxNameBytes) return false;
  for (char c : value) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                      c == '-';
    if (!good) return false;
  }
  return true;
}

bool valid_model(std::string_view value) {
  if (!is_path(value)) return is_name(value);
  return value.size() < sizeof(penstock_wire_options::model) &&
         is_printable(value);
}

bool valid_match(std::string_view value) {
  return !value.empty() &&
         value.size() < sizeof(penstock_wire_options::match) &&
         is_printable(value);
}

bool set_mode(std::string_view value, penstock_wire_options& options) {
  if (value == "auto")
    options.mode = PENSTOCK_MODE_AUTO;
  else if (value == "off")
    options.mode = PENSTOCK_MODE_OFF;
  else
    return false;
  return true;
}

bool set_threads(std::string_view value, penstock_wire_options& options) {
  const bool is_auto = value == "auto";
  const auto count = parse_uint(value, 1, kMaxThreads);
  if (!is_auto && !count) return false;
  options.threads_auto = is_auto ? 1 : 0;
  options.threads = is_auto ? 0 : static_cast<uint32_t>(*count);
  return true;
}

bool set_bw(std::string_view value, penstock_wire_options& options) {
  const bool is_auto = value == "auto";
  const auto rate = parse_rate_bytes_per_s(value);
  if (!is_auto && !rate) return false;
  options.bw_auto = is_auto ? 1 : 0;
  options.bw_bytes_per_s = is_auto ? 0 : *rate;
  return true;
}

bool set_batch(std::string_view value, penstock_wire_options& options) {
  const auto batch = parse_uint(value, 1, kMaxBatch);
  if (!batch) return false;
  options.batch = static_cast<uint32_t>(*batch);
  return true;
}

uint32_t to_milli(double weight) {
  return static_cast<uint32_t>(std::lround(weight * 1000));
}

bool set_weight(std::string_view value, const OptionLimits& limits,
                penstock_wire_options& options) {
  const auto weight = parse_number(value, kMinWeight, limits.max_weight);
  if (!weight) return false;
  options.weight_milli = to_milli(*weight);
  return true;
}

// Implies --loader=auto unless --loader is given.
bool set_share(std::string_view value, penstock_wire_options& options) {
  if (!is_name(value) || value.front() == '.') return false;
  if (options.mode == PENSTOCK_MODE_UNSET) options.mode = PENSTOCK_MODE_AUTO;
  return true;
}

bool set_report(std::string_view value, penstock_wire_options& options) {
  if (value == "text")
    options.report_format = PENSTOCK_REPORT_TEXT;
  else if (value == "json")
    options.report_format = PENSTOCK_REPORT_JSON;
  else if (value == "none")
    options.report_format = PENSTOCK_REPORT_NONE;
  else
    return false;
  return true;
}

// Stores value if it is valid; false otherwise.
bool set_option(int index, std::string_view value, const OptionLimits& limits,
                penstock_wire_options& options) {
  switch (index) {
    case kLoader:
      return set_mode(value, options);
    case kThreads:
      return set_threads(value, options);
    case kBw:
      return set_bw(value, options);
    case kModel:
      if (!valid_model(value)) return false;
      store(value, options.model);
      return true;
    case kBatch:
      return set_batch(value, options);
    case kWeight:
      return set_weight(value, limits, options);
    case kMatch:
      if (!valid_match(value)) return false;
      store(value, options.match);
      return true;
    case kShare:
      return set_share(value, options);
    case kReport:
      return set_report(value, options);
    default:
      return false;
  }
}

// Reads a NUL-padded field's text; false if other bytes follow the first NUL.
template <size_t N>
bool read_field(const char (&field)[N], std::string_view& text) {
  text = std::string_view(field, strnlen(field, N));
  for (size_t i = text.size(); i < N; ++i)
    if (field[i] != 0) return false;
  return true;
}

Error out_of_range(const char* field, const char* allowed) {
  return invalid(std::string(field) + ": out of range; allowed: " + allowed);
}

// Returns an error for the first number out of range.
Status check_numbers(const penstock_wire_options& options,
                     const OptionLimits& limits) {
  if (options.mode > PENSTOCK_MODE_OFF) return out_of_range("mode", "0 to 2");
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
  if (options.reserved != 0) return out_of_range("reserved", "0");
  return Done{};
}

}  // namespace

const OptionSpec& option_spec(int index) { return kSpecs[index]; }

Status apply_option(int index, std::string_view value,
                    const OptionLimits& limits,
                    penstock_wire_options& options) {
  if (index < 0 || index >= kOptionCount)
    return invalid("no option has the number " + std::to_string(index));
  if (set_option(index, value, limits, options)) return Done{};
  const OptionSpec& spec = kSpecs[index];
  std::string allowed = spec.allowed;
  if (index == kWeight)
    allowed += " (" + format_number(limits.max_weight) + ")";
  return invalid("--" + std::string(spec.name) + "=" + printable(value) +
                 ": not valid; allowed: " + allowed);
}

Status check_options(const penstock_wire_options& options,
                     const OptionLimits& limits) {
  if (Status status = check_numbers(options, limits); !status) return status;
  std::string_view model;
  if (!read_field(options.model, model) ||
      (!model.empty() && !valid_model(model)))
    return out_of_range("model", kSpecs[kModel].allowed);
  if (is_path(model) && model.front() != '/')
    return out_of_range("model", "a path that begins with '/'");
  std::string_view match;
  if (!read_field(options.match, match) ||
      (!match.empty() && !valid_match(match)))
    return out_of_range("match", kSpecs[kMatch].allowed);
  return Done{};
}

bool asks_for_management(const penstock_wire_options& options) {
  if (options.mode == PENSTOCK_MODE_OFF) return false;
  return options.mode == PENSTOCK_MODE_AUTO || options.report_format != 0 ||
         options.threads != 0 || options.threads_auto != 0 ||
         options.bw_bytes_per_s != 0 || options.bw_auto != 0 ||
         options.batch != 0 || options.weight_milli != 0 ||
         options.model[0] != 0 || options.match[0] != 0;
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
