#include "common/options.h"

#include <cstring>
#include <string>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

const OptionLimits kLimits{2.0};

int index_of(const std::string& name) {
  for (int i = 0; i < kOptionCount; ++i)
    if (name == option_spec(i).name) return i;
  return -1;
}

Status apply(const std::string& name, const std::string& value,
             penstock_wire_options& options) {
  return apply_option(index_of(name), value, kLimits, options);
}

std::string text_of(const char* field, size_t size) {
  return std::string(field, strnlen(field, size));
}

TEST_CASE("the options come in help order, each with its variable") {
  const char* const names[] = {
      "loader",       "loader-threads", "loader-bw",    "loader-model",
      "loader-batch", "loader-weight",  "loader-match", "loader-share",
      "loader-watch", "loader-elastic", "loader-report"};
  for (int i = 0; i < kOptionCount; ++i) {
    const OptionSpec& spec = option_spec(i);
    CHECK(spec.name == std::string(names[i]));
    std::string variable = "PENSTOCK_";
    for (const char* c = spec.name; *c; ++c)
      variable += *c == '-' ? '_' : static_cast<char>(*c - 'a' + 'A');
    CHECK(spec.variable == variable);
    std::string slurm_variable = "_SLURM_SPANK_OPTION_penstock_";
    for (const char* c = spec.name; *c; ++c)
      slurm_variable += *c == '-' ? '_' : *c;
    CHECK(spec.slurm_variable == slurm_variable);
    CHECK(std::strlen(spec.help) <= 60);  // Slurm wraps longer text
    CHECK(std::strlen(spec.argument) > 0);
    CHECK(std::strlen(spec.allowed) > 0);
  }
}

TEST_CASE("valid values are stored") {
  penstock_wire_options options{};
  REQUIRE(apply("loader", "auto", options));
  CHECK(options.mode == PENSTOCK_MODE_AUTO);
  REQUIRE(apply("loader", "off", options));
  CHECK(options.mode == PENSTOCK_MODE_OFF);
  REQUIRE(apply("loader-threads", "4096", options));
  CHECK(options.threads == 4096);
  REQUIRE(apply("loader-bw", "1.5G", options));
  CHECK(options.bw_bytes_per_s == 1610612736);
  REQUIRE(apply("loader-model", "res50", options));
  CHECK(text_of(options.model, sizeof options.model) == "res50");
  REQUIRE(apply("loader-batch", "128", options));
  CHECK(options.batch == 128);
  REQUIRE(apply("loader-weight", "1.25", options));
  CHECK(options.weight_milli == 1250);
  REQUIRE(apply("loader-match", "*data worker*", options));
  CHECK(text_of(options.match, sizeof options.match) == "*data worker*");
  REQUIRE(apply("loader-report", "text", options));
  CHECK(options.report_format == PENSTOCK_REPORT_TEXT);
  REQUIRE(apply("loader-report", "json", options));
  CHECK(options.report_format == PENSTOCK_REPORT_JSON);
  REQUIRE(apply("loader-report", "none", options));
  CHECK(options.report_format == PENSTOCK_REPORT_NONE);
  options.mode = PENSTOCK_MODE_AUTO;
  CHECK(check_options(options, kLimits));
}

TEST_CASE("a number and auto replace each other") {
  penstock_wire_options options{};
  REQUIRE(apply("loader-threads", "8", options));
  REQUIRE(apply("loader-threads", "auto", options));
  CHECK(options.threads == 0);
  CHECK(options.threads_auto == 1);
  REQUIRE(apply("loader-threads", "8", options));
  CHECK(options.threads_auto == 0);
  REQUIRE(apply("loader-bw", "auto", options));
  CHECK(options.bw_auto == 1);
  REQUIRE(apply("loader-bw", "1M", options));
  CHECK(options.bw_auto == 0);
  CHECK(check_options(options, kLimits));
}

TEST_CASE("a shorter name clears the rest of a longer one") {
  penstock_wire_options options{};
  REQUIRE(apply("loader-model", "transformer", options));
  REQUIRE(apply("loader-model", "m5", options));
  CHECK(options.model[3] == 0);
  CHECK(check_options(options, kLimits));
}

TEST_CASE("an invalid value is refused by name and changes nothing") {
  struct Row {
    const char* name;
    std::string value;
  };
  const Row rows[] = {
      {"loader", ""},
      {"loader", "on"},
      {"loader", "AUTO"},
      {"loader-threads", ""},
      {"loader-threads", "0"},
      {"loader-threads", "4097"},
      {"loader-threads", "-1"},
      {"loader-threads", "abc"},
      {"loader-threads", "4 "},
      {"loader-bw", "0"},
      {"loader-bw", "fast"},
      {"loader-bw", "-1M"},
      {"loader-model", ""},
      {"loader-model", "a b"},
      {"loader-model", "name;rm"},
      {"loader-model", std::string(65, 'a')},
      {"loader-model", "/" + std::string(255, 'a')},
      {"loader-model", "/a\nb"},
      {"loader-batch", "0"},
      {"loader-batch", "1000001"},
      {"loader-batch", "1.5"},
      {"loader-weight", "0"},
      {"loader-weight", "0.0001"},
      {"loader-weight", "2.1"},
      {"loader-weight", "nan"},
      {"loader-match", ""},
      {"loader-match", std::string(64, 'a')},
      {"loader-match", "a\tb"},
      {"loader-match", "\xc3\xa4"},
      {"loader-share", ""},
      {"loader-share", ".a"},
      {"loader-share", "a/b"},
      {"loader-share", std::string(65, 'a')},
      {"loader-watch", "on"},
      {"loader-elastic", "on"},
      {"loader-elastic", ""},
      {"loader-report", "xml"},
      {"loader-report", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name, row.value);
    penstock_wire_options options{};
    options.batch = 3;
    const penstock_wire_options before = options;
    const Status status = apply(row.name, row.value, options);
    REQUIRE_FALSE(status);
    CHECK(std::memcmp(&before, &options, sizeof options) == 0);
    const std::string& message = status.error().message;
    CHECK(message.starts_with("--" + std::string(row.name) + "="));
    CHECK(message.find(option_spec(index_of(row.name)).allowed) !=
          std::string::npos);
  }
}

TEST_CASE("errors have the documented text") {
  penstock_wire_options options{};
  CHECK(apply("loader-threads", "abc", options).error().message ==
        "--loader-threads=abc: not valid; allowed: 1 to 4096, or auto");
  CHECK(apply("loader-weight", "3", options).error().message ==
        "--loader-weight=3: not valid; allowed: 0.001 to the MaxWeight that "
        "the admin set (2)");
  CHECK_FALSE(apply_option(kOptionCount, "1", kLimits, options));
  CHECK_FALSE(apply_option(-1, "1", kLimits, options));
}

TEST_CASE("the longest allowed texts fit") {
  penstock_wire_options options{};
  REQUIRE(apply("loader-model", "/" + std::string(254, 'a'), options));
  CHECK(options.model[255] == 0);
  REQUIRE(apply("loader-match", std::string(63, '*'), options));
  CHECK(options.match[63] == 0);
  CHECK(check_options(options, kLimits));
}

TEST_CASE("each field of a received message is checked") {
  penstock_wire_options good{};
  REQUIRE(check_options(good, kLimits));
  struct Row {
    const char* field;
    void (*spoil)(penstock_wire_options&);
  };
  using Options = penstock_wire_options;
  const Row rows[] = {
      {"mode", [](Options& o) { o.mode = 4; }},
      {"report_format", [](Options& o) { o.report_format = 4; }},
      {"threads", [](Options& o) { o.threads = 4097; }},
      {"threads_auto", [](Options& o) { o.threads_auto = 2; }},
      {"threads_auto", [](Options& o) { o.threads = o.threads_auto = 1; }},
      {"bw_bytes_per_s", [](Options& o) { o.bw_bytes_per_s = UINT64_MAX; }},
      {"bw_auto", [](Options& o) { o.bw_auto = 2; }},
      {"bw_auto", [](Options& o) { o.bw_bytes_per_s = o.bw_auto = 1; }},
      {"batch", [](Options& o) { o.batch = 1000001; }},
      {"weight_milli", [](Options& o) { o.weight_milli = 2001; }},
      {"watch", [](Options& o) { o.watch = 3; }},
      {"model", [](Options& o) { std::strcpy(o.model, "a b"); }},
      {"model", [](Options& o) { std::strcpy(o.model, "relative/path"); }},
      {"model", [](Options& o) { o.model[9] = 'x'; }},
      {"model", [](Options& o) { std::memset(o.model, '/', 256); }},
      {"match", [](Options& o) { std::strcpy(o.match, "\x01"); }},
      {"match", [](Options& o) { o.match[9] = 'x'; }},
      {"match", [](Options& o) { std::memset(o.match, 'x', 64); }},
      {"elastic", [](Options& o) { o.elastic = 4; }},
      {"reserved", [](Options& o) { o.reserved = 1; }},
      {"share", [](Options& o) { std::strcpy(o.share, ".a"); }},
      {"share", [](Options& o) { std::memset(o.share, 'x', 65); }},
      {"share", [](Options& o) { o.share[9] = 'x'; }},
  };
  for (const Row& row : rows) {
    Options options = good;
    row.spoil(options);
    CAPTURE(row.field);
    const Status status = check_options(options, kLimits);
    REQUIRE_FALSE(status);
    CHECK(status.error().message.starts_with(std::string(row.field) + ": "));
  }
}

TEST_CASE("any option asks for management, and off wins") {
  penstock_wire_options none{};
  CHECK_FALSE(asks_for_management(none));
  const char* const values[][2] = {
      {"loader", "auto"},         {"loader-threads", "2"},
      {"loader-threads", "auto"}, {"loader-bw", "1M"},
      {"loader-bw", "auto"},      {"loader-model", "res50"},
      {"loader-batch", "1"},      {"loader-weight", "1"},
      {"loader-match", "*"},      {"loader-report", "none"},
      {"loader-share", "search"}, {"loader-watch", "auto"},
      {"loader-elastic", "exact"}};
  for (const auto& [name, value] : values) {
    CAPTURE(name, value);
    penstock_wire_options options{};
    REQUIRE(apply(name, value, options));
    CHECK(asks_for_management(options));
    options.mode = PENSTOCK_MODE_OFF;
    CHECK_FALSE(asks_for_management(options));
  }
}

TEST_CASE("a managed job is watched, unless its user refuses") {
  penstock_wire_options options{};
  CHECK_FALSE(asks_for_watching(options));
  REQUIRE(apply("loader", "auto", options));
  CHECK(asks_for_watching(options));
  REQUIRE(apply("loader-watch", "off", options));
  CHECK_FALSE(asks_for_watching(options));
  CHECK(asks_for_management(options));
  REQUIRE(apply("loader-watch", "auto", options));
  CHECK(asks_for_watching(options));
  REQUIRE(apply("loader", "off", options));
  CHECK_FALSE(asks_for_watching(options));
}

TEST_CASE("a loader's pattern matches the whole of a name") {
  struct Row {
    const char* pattern;
    const char* text;
    bool matches;
  };
  const Row rows[] = {
      {"dali", "dali", true},
      {"dali", "dali1", false},
      {"dali*", "dali1", true},
      {"*dali", "x dali", true},
      {"*ali*", "x dali 1", true},
      {"d?li", "dali", true},
      {"d?li", "dli", false},
      {"*", "", true},
      {"?", "", false},
      {"", "", true},
      {"", "a", false},
      {"a*b*c", "a1b2b3c", true},
      {"a*b*c", "a1c2b", false},
      {"[a]", "[a]", true},
      {"[a]", "a", false},
      {"a**b", "ab", true},
      {"*a?", "aab", true},
      {"A", "a", false},
      {"python* --worker=?", "python3 x.py --worker=4", true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.pattern, row.text);
    CHECK(matches_loader(row.pattern, row.text) == row.matches);
  }
}

TEST_CASE("a hostile pattern costs no more than pattern times text") {
  std::string pattern;
  for (int i = 0; i < 31; ++i) pattern += "*a";
  pattern += 'b';
  // Exponential matching would not end within the test's time limit.
  CHECK_FALSE(matches_loader(pattern, std::string(100000, 'a')));
}

}  // namespace
}  // namespace penstock
