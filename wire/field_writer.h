// Writes described fields (field_rule.h) as JSON. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/field_rule.h"

namespace penstock {

// A visitor for visit_fields(). Json: nlohmann::json, whose keys are sorted, or
// nlohmann::ordered_json, whose keys have the order of the description.
template <class Json>
class FieldWriter {
 public:
  template <class T>
  void operator()(const char* key, const T& field, const RuleOf<T>& rule = {}) {
    if (rule.omit_default && field == T()) return;
    out_[key] = value_of(field, rule);
  }
  template <class Describe>
  void object(const char* key, Describe describe) {
    FieldWriter inner;
    describe(inner);
    out_[key] = inner.take();
  }
  void require(bool, const char*, const char*) {}

  Json take() { return std::move(out_); }

 private:
  template <class T, class Rule>
  static Json value_of(const T& field, const Rule& rule) {
    if constexpr (std::is_enum_v<T>) {
      return rule.name_of(field);
    } else if constexpr (Number<T> || std::is_constructible_v<std::string, T> ||
                         std::same_as<T, bool>) {
      return field;
    } else {
      FieldWriter inner;
      visit_fields(inner, field);
      return inner.take();
    }
  }

  template <class T, class Rule>
  static Json value_of(const std::optional<T>& field, const Rule& rule) {
    return field ? value_of(*field, rule) : Json();
  }

  template <class T, class Rule>
  static Json value_of(const std::vector<T>& field, const Rule&) {
    Json list = Json::array();
    for (const T& entry : field) list.push_back(value_of(entry, RuleOf<T>()));
    return list;
  }

  Json out_ = Json::object();
};

template <class Json, class T>
Json write_fields(const T& value) {
  FieldWriter<Json> writer;
  visit_fields(writer, value);
  return writer.take();
}

}  // namespace penstock
