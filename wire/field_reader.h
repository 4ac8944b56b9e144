// Reads described fields (field_rule.h) from JSON and checks each one. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/result.h"
#include "wire/field_dialect.h"
#include "wire/field_rule.h"

namespace penstock {

// A visitor for visit_fields(). Keeps the first error and then reads nothing.
class FieldReader {
 public:
  // name: the first part of every path.
  FieldReader(const nlohmann::json& object, const FieldDialect& dialect,
              const char* name = "");

  template <class T>
  void operator()(const char* key, T& field, const RuleOf<T>& rule = {}) {
    const nlohmann::json* in = find(key, rule.optional, kIsOptional<T>);
    if (in != nullptr) read(*in, {key}, field, rule);
    is_missing_ = false;
  }
  // An object whose fields belong to the same struct: calls
  // describe(its reader).
  template <class Describe>
  void object(const char* key, Describe describe) {
    const nlohmann::json* in = find(key, /*may_miss=*/false, false);
    if (in != nullptr) read_object(*in, {key}, describe);
    is_missing_ = false;
  }
  void require(bool holds, const char* key, const char* allowed);

  // Call last.
  Status finish();

 private:
  using Kind = FieldFault::Kind;
  struct Step {
    const char* name;
    std::optional<size_t> index = {};
  };

  FieldReader(const nlohmann::json& object, FieldReader& outer, Step step)
      : in_(object), dialect_(outer.dialect_), step_(step), outer_(&outer) {}

  // The field, or null if it is missing and must not be; nullptr: no field is
  // to be read.
  const nlohmann::json* find(const char* key, bool may_miss, bool is_optional);
  bool fail(Step step, FieldFault fault);
  void refuse_unknown();
  std::string path_to(Step step) const;
  bool is_failed() const;

  bool read(const nlohmann::json& in, Step step, double& out,
            const FieldRule<double>& rule);
  bool read(const nlohmann::json& in, Step step, bool& out,
            const FieldRule<bool>& rule);
  bool read(const nlohmann::json& in, Step step, std::string& out,
            const FieldRule<std::string>& rule);
  bool is_list(const nlohmann::json& in, Step step, size_t most);

  template <std::integral T>
  bool read(const nlohmann::json& in, Step step, T& out,
            const FieldRule<T>& rule) {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    const bool is_whole =
        std::is_signed_v<T> ? in.is_number_integer() : in.is_number_unsigned();
    // A number over INT64_MAX would become a negative one.
    const bool wraps = std::is_signed_v<T> && in.is_number_unsigned() &&
                       in.get<uint64_t>() > INT64_MAX;
    const Wide value = is_whole ? in.get<Wide>() : Wide{rule.low};
    if (is_whole && !wraps && value >= rule.low && value <= rule.high) {
      out = T(value);
      return true;
    }
    return fail(step, {.kind = is_whole ? Kind::kRange : Kind::kType,
                       .type = "a whole number",
                       .allowed = std::to_string(rule.low) + " to " +
                                  std::to_string(rule.high),
                       .most = uint64_t(rule.high)});
  }

  template <class T>
  requires std::is_enum_v<T>
  bool read(const nlohmann::json& in, Step step, T& out,
            const FieldRule<T>& rule) {
    for (size_t i = 0; i < rule.count; ++i) {
      if (in == rule.name_of(T(i))) {
        out = T(i);
        return true;
      }
    }
    return fail(step, {.kind = in.is_string() ? Kind::kRange : Kind::kType,
                       .type = "a name"});
  }

  template <class T, class Rule>
  bool read(const nlohmann::json& in, Step step, std::optional<T>& out,
            const Rule& rule) {
    T value{};
    if (!read(in, step, value, rule)) return false;
    out = std::move(value);
    return true;
  }

  template <class T>
  bool read(const nlohmann::json& in, Step step, std::vector<T>& out,
            const FieldRule<std::vector<T>>& rule) {
    if (!is_list(in, step, rule.most)) return false;
    out.resize(in.size());
    RuleOf<T> entry;
    if constexpr (requires { entry.name; }) entry.name = rule.name;
    for (size_t i = 0; i < in.size(); ++i) {
      if (!read(in[i], {step.name, i}, out[i], entry)) return false;
    }
    return true;
  }

  template <class T>
  requires std::is_class_v<T>
  bool read(const nlohmann::json& in, Step step, T& out,
            const FieldRule<T>& rule) {
    if (rule.name != nullptr) step.name = rule.name;
    return read_object(
        in, step, [&out](FieldReader& inner) { visit_fields(inner, out); });
  }

  template <class Describe>
  bool read_object(const nlohmann::json& in, Step step, Describe describe) {
    if (!in.is_object()) {
      return fail(step, {.kind = Kind::kType, .type = "an object"});
    }
    FieldReader inner(in, *this, step);
    describe(inner);
    inner.refuse_unknown();
    return !is_failed();
  }

  const nlohmann::json& in_;
  const FieldDialect& dialect_;
  Step step_;
  FieldReader* outer_ = nullptr;
  bool is_missing_ = false;              // the field that is being read
  std::vector<std::string_view> known_;  // if others are refused
  std::optional<Error> error_;           // of the outermost reader
};

template <class T>
[[nodiscard]] Result<T> read_fields(const nlohmann::json& object,
                                    const FieldDialect& dialect,
                                    const char* name = "") {
  FieldReader reader(object, dialect, name);
  T out;
  visit_fields(reader, out);
  if (Status status = reader.finish(); !status) {
    return std::move(status).error();
  }
  return out;
}

// Without what is nested deeper than `deepest`; discarded if it is not JSON.
struct ParsedJson {
  nlohmann::json document;
  bool is_too_deep = false;
};
ParsedJson parse_json(std::string_view text, int deepest);

}  // namespace penstock
