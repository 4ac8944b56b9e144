#include "wire/field_reader.h"

#include <algorithm>

#include "common/units.h"

namespace penstock {

using nlohmann::json;

FieldReader::FieldReader(const json& object, const FieldDialect& dialect,
                         const char* name)
    : in_(object), dialect_(dialect), step_{name} {
  if (!object.is_object()) {
    fail({""}, {.kind = Kind::kType, .type = "an object"});
  }
}

void FieldReader::require(bool holds, const char* key, const char* allowed) {
  if (!holds) fail({key}, {.kind = Kind::kRule, .allowed = allowed});
}

Status FieldReader::finish() {
  refuse_unknown();
  if (error_) return *std::move(error_);
  return Done{};
}

void FieldReader::refuse_unknown() {
  if (!dialect_.refuses_unknown || is_failed()) return;
  for (const auto& [key, value] : in_.items()) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
      fail({key.c_str()}, {.kind = Kind::kUnknown});
    }
  }
}

const json* FieldReader::find(const char* key, bool may_miss,
                              bool is_optional) {
  using Null = FieldDialect::Null;
  static const json kNull;
  if (is_failed()) return nullptr;
  if (dialect_.refuses_unknown) known_.push_back(key);
  const auto found = in_.find(key);
  if (found == in_.end()) {
    is_missing_ =
        !may_miss && !(is_optional && dialect_.null != Null::kOptional);
    return is_missing_ ? &kNull : nullptr;
  }
  const bool may_be_null = is_optional
                               ? dialect_.null != Null::kRefused
                               : may_miss && dialect_.null == Null::kIsMissing;
  return found->is_null() && may_be_null ? nullptr : &*found;
}

bool FieldReader::is_failed() const {
  return outer_ == nullptr ? error_.has_value() : outer_->is_failed();
}

bool FieldReader::fail(Step step, FieldFault fault) {
  if (dialect_.error_of == nullptr || is_failed()) return false;
  if (is_missing_) fault.kind = Kind::kMissing;
  fault.path = path_to(step);
  fault.in_list = step.index.has_value();
  FieldReader* outermost = this;
  while (outermost->outer_ != nullptr) outermost = outermost->outer_;
  outermost->error_ = dialect_.error_of(fault);
  return false;
}

std::string FieldReader::path_to(Step step) const {
  std::string path;
  if (dialect_.separator != nullptr) {
    path = outer_ != nullptr ? outer_->path_to(step_) : step_.name;
    if (!path.empty() && *step.name != '\0') path += dialect_.separator;
  }
  path += step.name;
  if (step.index && dialect_.shows_index) {
    path += "[" + std::to_string(*step.index) + "]";
  }
  return path;
}

bool FieldReader::read(const json& in, Step step, double& out,
                       const FieldRule<double>& rule) {
  const double low = std::max(rule.low, dialect_.low);
  const double high = std::min(rule.high, dialect_.high);
  const double value = in.is_number() ? in.get<double>() : low;
  if (in.is_number() && value >= low && value <= high) {
    out = value;
    return true;
  }
  return fail(step, {.kind = in.is_number() ? Kind::kRange : Kind::kType,
                     .type = "a number",
                     .low = low,
                     .high = high,
                     .value = value});
}

bool FieldReader::read(const json& in, Step step, bool& out,
                       const FieldRule<bool>&) {
  if (!in.is_boolean()) {
    return fail(step, {.kind = Kind::kType, .type = "true or false"});
  }
  out = in.get<bool>();
  return true;
}

bool FieldReader::read(const json& in, Step step, std::string& out,
                       const FieldRule<std::string>& rule) {
  if (!in.is_string() || in.get_ref<const std::string&>().size() > rule.most) {
    return fail(step, {.kind = in.is_string() ? Kind::kRange : Kind::kType,
                       .type = "a text",
                       .most = rule.most});
  }
  out = in.get_ref<const std::string&>().substr(0, dialect_.text_bytes);
  if (dialect_.printable_bytes > 0) {
    out = printable(out, std::min(dialect_.printable_bytes, rule.most));
  }
  return true;
}

bool FieldReader::is_list(const json& in, Step step, size_t most) {
  if (in.is_array() && in.size() <= most) return true;
  return fail(step, {.kind = in.is_array() ? Kind::kTooMany : Kind::kType,
                     .type = "a list",
                     .most = most});
}

ParsedJson parse_json(std::string_view text, int deepest) {
  ParsedJson out;
  const auto shallow = [&](int depth, json::parse_event_t, json&) {
    out.is_too_deep = out.is_too_deep || depth > deepest;
    return depth <= deepest;
  };
  out.document = json::parse(text, shallow, /*allow_exceptions=*/false);
  return out;
}

}  // namespace penstock
