#include "predictor/profile.h"

#include <cmath>

#include "common/units.h"
#include "predictor/arrival.h"
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
constexpr double kMaxCount = 1e9;
constexpr double kMaxNodes = 1e6;

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

struct JobNumberKey {
  const char* key;
  double JobFeatures::*field;
  double low, high;
};

constexpr JobNumberKey kJobNumbers[] = {
    {"batch", &JobFeatures::batch_per_gpu, 1, kMaxCount},
    {"network_gbs", &JobFeatures::network_gbs, 1e-3, 1e6},
    {"params_m", &JobFeatures::params_m, 1e-6, kMaxCount},
    {"fwd_gflops_per_sample", &JobFeatures::fwd_gflops_per_sample, 1e-9,
     kMaxCount},
    {"activations_m", &JobFeatures::activations_m, 1e-9, kMaxCount},
};

struct TextKey {
  const char* key;
  std::string& (*field)(Profile& profile);
};

constexpr TextKey kTexts[] = {
    {"name", [](Profile& it) -> std::string& { return it.name; }},
    {"pool", [](Profile& it) -> std::string& { return it.pool; }},
    {"model", [](Profile& it) -> std::string& { return it.job.model; }},
    {"gpu", [](Profile& it) -> std::string& { return it.job.gpu; }},
    {"cpu_class", [](Profile& it) -> std::string& { return it.cpu_class; }},
};

std::string range(double low, double high) {
  return format_number(low) + " to " + format_number(high);
}

// False where x is NaN, too.
bool in_range(double x, double low, double high) {
  return x >= low && x <= high;
}

// The setters' errors say "why; what is allowed" only.
Status set_number(const ProfileEntry& entry, double low, double high,
                  double& field) {
  const double* value = std::get_if<double>(&entry.value);
  if (!value || !in_range(*value, low, high))
    return invalid("not valid; allowed: a number from " + range(low, high));
  field = *value;
  return Done{};
}

Status set_nodes(const ProfileEntry& entry, Profile& profile) {
  double nodes = 0;
  Status set = set_number(entry, 1, kMaxNodes, nodes);
  if (set && nodes != std::floor(nodes))
    return invalid("not valid; allowed: a whole number");
  profile.job.nodes = static_cast<int>(nodes);
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

Status set_text(const ProfileEntry& entry, const TextKey& rule,
                Profile& profile) {
  const std::string* value = std::get_if<std::string>(&entry.value);
  if (!value || value->empty() || value->size() > kMaxNameBytes ||
      printable(*value) != *value)
    return invalid(
        "not valid; allowed: a string of 1 to 64 printable ASCII "
        "characters");
  rule.field(profile) = *value;
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
    if (entry.key == rule.key)
      return set_number(entry, rule.low, rule.high, profile.*rule.field);
  for (const JobNumberKey& rule : kJobNumbers)
    if (entry.key == rule.key)
      return set_number(entry, rule.low, rule.high, profile.job.*rule.field);
  for (const TextKey& rule : kTexts)
    if (entry.key == rule.key) return set_text(entry, rule, profile);
  if (entry.key == "rate_at_cores") return set_curve(entry, profile);
  if (entry.key == "nodes") return set_nodes(entry, profile);
  if (entry.key == "precision") return set_precision(entry, profile);
  std::string allowed;
  for (const NumberKey& rule : kNumbers)
    allowed += std::string(rule.key) + ", ";
  for (const JobNumberKey& rule : kJobNumbers)
    allowed += std::string(rule.key) + ", ";
  for (const TextKey& rule : kTexts) allowed += std::string(rule.key) + ", ";
  return invalid("unknown key; allowed: " + allowed +
                 "nodes, precision, rate_at_cores");
}

// Other bytes have no use in a profile, and reach undefined behaviour in
// toml++ 3.3, which decodes them.
bool is_plain_ascii(std::string_view text) {
  for (char c : text)
    if ((c < ' ' || c > '~') && c != '\t' && c != '\n' && c != '\r')
      return false;
  return true;
}

// Keys that go together, and those that do not.
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
    return invalid("gpu: " + quoted(profile.job.gpu) +
                   " is not known; allowed: what penstock predict --list-gpus "
                   "has");
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
