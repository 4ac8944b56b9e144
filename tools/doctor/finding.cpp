#include "tools/doctor/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/units.h"
#include "tools/penstock/json_text.h"

namespace penstock::doctor {
namespace {

using nlohmann::ordered_json;

struct Look {
  Verdict verdict;
  const char* status;  // in JSON
  const char* word;    // in text
  const char* colour;
};
constexpr Look kLooks[] = {
    {Verdict::kOk, "ok", "ok", "\033[1;32m"},
    {Verdict::kWarn, "warn", "warn", "\033[1;33m"},
    {Verdict::kFail, "fail", "FAIL", "\033[1;31m"},
    {Verdict::kSkip, "skip", "skip", ""},
};

const Look& look_of(Verdict verdict) {
  return *std::find_if(std::begin(kLooks), std::end(kLooks),
                       [&](const Look& it) { return it.verdict == verdict; });
}

std::string one_line(const std::string& text) {
  return printable(text, text.size());
}

Finding read_finding(const ordered_json& json) {
  const auto status = json.at("status").get<std::string>();
  const auto look =
      std::find_if(std::begin(kLooks), std::end(kLooks),
                   [&](const Look& it) { return status == it.status; });
  Finding finding;
  finding.verdict = look == std::end(kLooks) ? Verdict::kFail : look->verdict;
  json.at("check").get_to(finding.check);
  json.at("found").get_to(finding.found);
  json.at("remedy").get_to(finding.remedy);
  return finding;
}

}  // namespace

Finding ok(std::string check, std::string found) {
  return {std::move(check), Verdict::kOk, std::move(found), ""};
}

Finding warn(std::string check, std::string found, std::string remedy) {
  return {std::move(check), Verdict::kWarn, std::move(found),
          std::move(remedy)};
}

Finding fail(std::string check, std::string found, std::string remedy) {
  return {std::move(check), Verdict::kFail, std::move(found),
          std::move(remedy)};
}

Finding skip(std::string check, std::string found) {
  return {std::move(check), Verdict::kSkip, std::move(found), ""};
}

Finding unreadable(std::string check, const Error& error, std::string remedy) {
  if (error.saved_errno == EACCES || error.saved_errno == EPERM) {
    return skip(std::move(check), error.message + ": run as root to see it");
  }
  return fail(std::move(check), error.message, std::move(remedy));
}

bool any_failed(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& it) {
    return it.verdict == Verdict::kFail;
  });
}

std::string render_findings(const Findings& findings, const TextStyle& style) {
  size_t widest = 0;
  for (const Finding& it : findings) widest = std::max(widest, it.check.size());
  std::string out;
  for (const Finding& it : findings) {
    const Look& look = look_of(it.verdict);
    const bool paint = style.color && *look.colour != '\0';
    out += fmt::format("{}{:<4}{}  {:<{}}  {}\n", paint ? look.colour : "",
                       look.word, paint ? "\033[0m" : "", one_line(it.check),
                       widest, one_line(it.found));
    if (!it.remedy.empty()) {
      out += fmt::format("      fix: {}\n", one_line(it.remedy));
    }
  }
  return out;
}

std::string to_json(const Findings& findings) {
  ordered_json list = ordered_json::array();
  for (const Finding& it : findings) {
    list.push_back({{"check", it.check},
                    {"status", look_of(it.verdict).status},
                    {"found", it.found},
                    {"remedy", it.remedy}});
  }
  // Texts quote files, which may hold any bytes.
  return json_text(list);
}

Result<Findings> parse_findings(std::string_view text) {
  try {
    Findings findings;
    for (const ordered_json& json : ordered_json::parse(text)) {
      findings.push_back(read_finding(json));
    }
    return findings;
  } catch (const std::exception& error) {
    return invalid(std::string("findings: ") + error.what());
  }
}

}  // namespace penstock::doctor
