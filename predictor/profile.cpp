#include "predictor/profile.h"

#include "common/units.h"
#include "predictor/profile_syntax.h"

namespace penstock {
namespace {

constexpr size_t kMaxTextBytes = size_t{64} * 1024;
constexpr size_t kMaxNameBytes = 64;
constexpr size_t kMaxPoints = 256;
constexpr double kMaxSeconds = 1e6;  // per sample: eleven days
constexpr double kMinSeconds = 1e-9;
constexpr double kMaxBytes = 1e15;
constexpr double kMinRate = 1e-6;
constexpr double kMaxRate = 1e9;

struct NumberKey {
  const char* key;
  double Profile::*field;
  double low, high;
};

constexpr NumberKey kNumbers[] = {
    {"accelerator_s_per_sample", &Profile::accelerator_s_per_sample,
     kMinSeconds, kMaxSeconds},
    {"loader_cpu_s_per_sample", &Profile::loader_cpu_s_per_sample, 0,
     kMaxSeconds},
    {"trainer_cpu_s_per_sample", &Profile::trainer_cpu_s_per_sample, 0,
     kMaxSeconds},
    {"bytes_per_sample", &Profile::bytes_per_sample, 0, kMaxBytes},
    {"cached_share", &Profile::cached_share, 0, 1},
    {"relative_error", &Profile::relative_error, 0, 0.99},
};

struct TextKey {
  const char* key;
  std::string Profile::*field;
};

constexpr TextKey kTexts[] = {
    {"name", &Profile::name},
    {"pool", &Profile::pool},
};

std::string range(double low, double high) {
  return format_number(low) + " to " + format_number(high);
}

// False where x is NaN, too.
bool in_range(double x, double low, double high) {
  return x >= low && x <= high;
}

// The setters' errors say "why; what is allowed" only.
Status set_number(const ProfileEntry& entry, const NumberKey& rule,
                  Profile& profile) {
  const double* value = std::get_if<double>(&entry.value);
  if (!value || !in_range(*value, rule.low, rule.high))
    return invalid("not valid; allowed: a number from " +
                   range(rule.low, rule.high));
  profile.*rule.field = *value;
  return Done{};
}

Status set_text(const ProfileEntry& entry, const TextKey& rule,
                Profile& profile) {
  const std::string* value = std::get_if<std::string>(&entry.value);
  if (!value || value->empty() || value->size() > kMaxNameBytes ||
      printable(*value) != *value)
    return invalid(
        "not valid; allowed: a string of 1 to 64 printable ASCII "
        "characters");
  profile.*rule.field = *value;
  return Done{};
}

Status set_curve(const ProfileEntry& entry, Profile& profile) {
  const auto* points = std::get_if<std::vector<double>>(&entry.value);
  bool good = points && !points->empty() && points->size() <= kMaxPoints;
  for (size_t i = 0; good && i < points->size(); ++i)
    good = in_range((*points)[i], kMinRate, kMaxRate);
  if (!good)
    return invalid(
        "not valid; allowed: a list of 1 to 256 rates in samples/s "
        "from " +
        range(kMinRate, kMaxRate));
  profile.rate_at_cores = *points;
  return Done{};
}

Status set_entry(const ProfileEntry& entry, Profile& profile) {
  for (const NumberKey& rule : kNumbers)
    if (entry.key == rule.key) return set_number(entry, rule, profile);
  for (const TextKey& rule : kTexts)
    if (entry.key == rule.key) return set_text(entry, rule, profile);
  if (entry.key == "rate_at_cores") return set_curve(entry, profile);
  std::string allowed;
  for (const NumberKey& rule : kNumbers)
    allowed += std::string(rule.key) + ", ";
  for (const TextKey& rule : kTexts) allowed += std::string(rule.key) + ", ";
  return invalid("unknown key; allowed: " + allowed + "rate_at_cores");
}

// Other bytes have no use in a profile, and reach undefined behaviour in
// toml++ 3.3, which decodes them.
bool is_plain_ascii(std::string_view text) {
  for (char c : text)
    if ((c < ' ' || c > '~') && c != '\t' && c != '\n' && c != '\r')
      return false;
  return true;
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
  if (profile.accelerator_s_per_sample == 0)
    return invalid(file_name +
                   ": accelerator_s_per_sample: missing; allowed: the "
                   "accelerator's seconds per sample, over 0");
  if (profile.name.empty()) profile.name = printable(file_name);
  return profile;
}

}  // namespace penstock
