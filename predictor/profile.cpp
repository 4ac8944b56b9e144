#include "predictor/profile.h"

#include <cmath>

#include "common/units.h"
#include "predictor/arrival.h"
#include "predictor/profile_keys.h"
#include "predictor/profile_syntax.h"

namespace penstock {
namespace {

using namespace profile_keys;

constexpr size_t kMaxTextBytes = size_t{64} * 1024;
constexpr double kMinExponent = 1;
constexpr double kMaxExponent = 64;

std::string range(double low, double high) {
  return format_number(low) + " to " + format_number(high);
}

// False for NaN, too.
bool in_range(double x, double low, double high) {
  return x >= low && x <= high;
}

// A setter's error is "why; what is allowed", without file and key.
Status set_number(const ProfileEntry& entry, double low, double high,
                  double& field) {
  const double* value = std::get_if<double>(&entry.value);
  if (!value || !in_range(*value, low, high))
    return invalid("not valid; allowed: a number from " + range(low, high));
  field = *value;
  return Done{};
}

Status set_exponent(const ProfileEntry& entry, double& field) {
  const double* value = std::get_if<double>(&entry.value);
  if (!value || (*value != 0 && !in_range(*value, kMinExponent, kMaxExponent)))
    return invalid("not valid; allowed: 0 (not known), or a number from " +
                   range(kMinExponent, kMaxExponent));
  field = *value;
  return Done{};
}

Status set_whole(const ProfileEntry& entry, const Whole& rule,
                 Profile& profile) {
  double number = 0;
  Status set = set_number(entry, rule.low, kMaxWhole, number);
  if (set && number != std::floor(number))
    return invalid("not valid; allowed: a whole number");
  if (set) rule.field(profile) = static_cast<int>(number);
  return set;
}

Status set_precision(const ProfileEntry& entry, Profile& profile) {
  const std::string* text = std::get_if<std::string>(&entry.value);
  Result<Precision> precision =
      text ? parse_precision(*text) : Result<Precision>(invalid(""));
  if (!precision)
    return invalid(
        "not valid; allowed: \"FP32\", \"TF32\", \"AMP\", \"BF16\", "
        "\"FP16\" or \"FP8\"");
  profile.job.precision = *precision;
  return Done{};
}

Status set_text(const ProfileEntry& entry, const Text& rule, Profile& profile) {
  const std::string* value = std::get_if<std::string>(&entry.value);
  if (!value || value->empty() || value->size() > kMaxNameBytes ||
      printable(*value) != *value)
    return invalid(
        "not valid; allowed: a string of 1 to 64 printable ASCII "
        "characters");
  rule.field(profile) = *value;
  return Done{};
}

Status set_list(const ProfileEntry& entry, const List& rule, Profile& profile) {
  const auto* points = std::get_if<std::vector<double>>(&entry.value);
  bool good = points && !points->empty() && points->size() <= kMaxPoints;
  for (size_t i = 0; good && i < points->size(); ++i)
    good = in_range((*points)[i], rule.low, rule.high);
  if (!good)
    return invalid("not valid; allowed: a list of 1 to 256 " +
                   std::string(rule.unit) + " from " +
                   range(rule.low, rule.high));
  profile.*rule.field = *points;
  return Done{};
}

std::string allowed_keys() {
  std::string allowed;
  const auto add = [&](const auto& rules) {
    for (const auto& rule : rules) allowed += std::string(rule.key) + ", ";
  };
  add(kNumbers);
  add(kExponents);
  add(kJobNumbers);
  add(kTexts);
  add(kWholes);
  add(kLists);
  return allowed + "precision";
}

Status set_entry(const ProfileEntry& entry, Profile& profile) {
  for (const Number& rule : kNumbers)
    if (entry.key == rule.key)
      return set_number(entry, rule.low, rule.high, profile.*rule.field);
  for (const Exponent& rule : kExponents)
    if (entry.key == rule.key) return set_exponent(entry, profile.*rule.field);
  for (const JobNumber& rule : kJobNumbers)
    if (entry.key == rule.key)
      return set_number(entry, rule.low, rule.high, profile.job.*rule.field);
  for (const Text& rule : kTexts)
    if (entry.key == rule.key) return set_text(entry, rule, profile);
  for (const Whole& rule : kWholes)
    if (entry.key == rule.key) return set_whole(entry, rule, profile);
  for (const List& rule : kLists)
    if (entry.key == rule.key) return set_list(entry, rule, profile);
  if (entry.key == "precision") return set_precision(entry, profile);
  return invalid("unknown key; allowed: " + allowed_keys());
}

// Profiles need no other bytes, and toml++ 3.3 has undefined behaviour when it
// decodes them.
bool is_plain_ascii(std::string_view text) {
  for (char c : text)
    if ((c < ' ' || c > '~') && c != '\t' && c != '\n' && c != '\r')
      return false;
  return true;
}

// Checks `cores` against the measured rates.
Status check_curve(const Profile& profile) {
  const std::vector<double>& cores = profile.cores;
  if (cores.empty()) return Done{};
  if (cores.size() != profile.rate_at_cores.size())
    return invalid("cores: holds " + std::to_string(cores.size()) +
                   " amounts and rate_at_cores " +
                   std::to_string(profile.rate_at_cores.size()) +
                   " rates; allowed: as many of one as of the other");
  for (size_t i = 1; i < cores.size(); ++i)
    if (cores[i] <= cores[i - 1])
      return invalid("cores: " + format_number(cores[i]) + " follows " +
                     format_number(cores[i - 1]) +
                     "; allowed: each more than the one before");
  return Done{};
}

// Checks combinations of keys.
Status check_whole(const Profile& profile) {
  const bool is_measured = profile.accelerator_s_per_sample > 0;
  if (!is_measured && !profile.describes_job())
    return invalid(
        "accelerator_s_per_sample: missing; allowed: the accelerator's seconds "
        "per sample, over 0, or model = what the job trains");
  if (is_measured && profile.describes_job())
    return invalid(
        "model: not valid with accelerator_s_per_sample; allowed: one of them");
  if (profile.describes_job() && !profile.rate_at_cores.empty())
    return invalid(
        "rate_at_cores: not valid with model; allowed: cpu_class or "
        "loader_cpu_s_per_sample");
  if (!profile.job.gpu.empty() && !find_gpu(profile.job.gpu).known)
    return invalid(
        "gpu: " + quoted(profile.job.gpu) +
        " is unknown; allowed: the GPU types of penstock predict --list-gpus");
  if (Status curve = check_curve(profile); !curve) return curve;
  if (profile.cpu_class.empty()) return Done{};
  if (profile.loader_cpu_s_per_sample > 0)
    return invalid(
        "cpu_class: not valid with loader_cpu_s_per_sample; allowed: one of "
        "them");
  if (profile.bytes_per_sample == 0)
    return invalid("cpu_class: needs bytes_per_sample");
  Result<Figure> cost = loader_cpu_s(profile.cpu_class, 1);
  return cost ? Status(Done{}) : invalid("cpu_class: " + cost.error().message);
}

bool begins_json(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

}  // namespace

Result<Profile> parse_profile(std::string_view text,
                              const std::string& file_name) {
  if (text.size() > kMaxTextBytes)
    return invalid(file_name + ": over 64 KiB; allowed: 64 KiB");
  if (!is_plain_ascii(text))
    return invalid(file_name +
                   ": a byte outside printable ASCII; allowed: ASCII text");
  auto entries = begins_json(text) ? read_json(text, file_name)
                                   : read_toml(text, file_name);
  if (!entries) return std::move(entries).error();
  Profile profile;
  for (const ProfileEntry& entry : *entries)
    if (Status status = set_entry(entry, profile); !status)
      return std::move(status).error().wrap(file_name + ": " +
                                            printable(entry.key));
  if (Status whole = check_whole(profile); !whole)
    return std::move(whole).error().wrap(file_name);
  if (profile.name.empty()) profile.name = printable(file_name);
  return profile;
}

}  // namespace penstock
