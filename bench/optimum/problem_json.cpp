#include "bench/optimum/problem_json.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace penstock::optimum {
namespace {

using allocator::Allocation;
using allocator::Job;
using allocator::Problem;
using nlohmann::json;

// Reads the fields of one JSON object and keeps the first error.
class Fields {
 public:
  Fields(const json& object, std::string where)
      : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("", "is not an object");
  }

  void number(const char* key, double& value) {
    if (const json* field = find(key, &json::is_number)) {
      value = field->get<double>();
    }
  }
  void id(const char* key, uint64_t& value) {
    if (const json* field = find(key, &json::is_number_unsigned)) {
      value = field->get<uint64_t>();
    }
  }
  void index(const char* key, int& value) {
    const json* field = find(key, &json::is_number_integer);
    if (!field) return;
    const int64_t wide = field->get<int64_t>();
    if (wide < -1 || wide > 1000000) return fail(key, "is out of range");
    value = static_cast<int>(wide);
  }
  // Calls f(element, its name) for each element of an array.
  template <class F>
  void each(const char* key, F f) {
    const json* field = find(key, &json::is_array);
    if (!field) return;
    for (size_t i = 0; i < field->size(); ++i) {
      const std::string name =
          where_ + std::string(key) + "[" + std::to_string(i) + "]";
      if (Status status = f((*field)[i], name); !status) {
        if (!error_) error_ = status.error();
        return;
      }
    }
  }
  void require(std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      if (object_.is_object() && !object_.contains(key)) {
        fail(key, "is missing");
      }
    }
  }
  // Call last: keys that were not read are unknown.
  Status finish() {
    if (object_.is_object()) {
      for (const auto& [key, value] : object_.items()) {
        if (!known_.contains(key)) fail(key, "is not a field");
      }
    }
    if (error_) return *error_;
    return Done{};
  }

 private:
  const json* find(const char* key, bool (json::*is_type)() const noexcept) {
    known_.insert(key);
    if (!object_.is_object() || !object_.contains(key)) return nullptr;
    const json& field = object_[key];
    if ((field.*is_type)()) return &field;
    fail(key, "has the wrong type");
    return nullptr;
  }
  void fail(const std::string& key, const char* why) {
    if (!error_) error_ = invalid("\"" + where_ + key + "\" " + why);
  }

  const json& object_;
  const std::string where_;  // "jobs[2]."
  std::set<std::string> known_;
  std::optional<Error> error_;
};

Status parse_point(const json& element, const std::string& name,
                   Job::Point& point) {
  Fields fields(element, name + ".");
  fields.require({"rate", "cores"});
  fields.number("rate", point.rate);
  fields.number("cores", point.cores);
  return fields.finish();
}

Status parse_job(const json& element, const std::string& name, Job& job) {
  Fields fields(element, name + ".");
  fields.require({"ceiling", "cores_curve"});
  fields.id("id", job.id);
  fields.number("weight", job.weight);
  fields.number("floor", job.floor);
  fields.number("ceiling", job.ceiling);
  fields.number("bytes_per_rate", job.bytes_per_rate);
  fields.index("pool", job.pool);
  fields.number("max_cores", job.max_cores);
  fields.each("cores_curve", [&](const json& point, const std::string& where) {
    return parse_point(point, where, job.cores_curve.emplace_back());
  });
  return fields.finish();
}

Status parse_pool(const json& element, const std::string& name, double& pool) {
  if (!element.is_number()) return invalid("\"" + name + "\" is not a number");
  pool = element.get<double>();
  return Done{};
}

}  // namespace

Result<Problem> parse_problem(std::string_view text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return invalid("the problem is not JSON");
  Problem problem;
  Fields fields(document, "");
  fields.require({"cores", "jobs"});
  fields.number("cores", problem.cores);
  fields.number("ingest_bytes_per_s", problem.ingest_bytes_per_s);
  fields.each("pools", [&](const json& pool, const std::string& name) {
    return parse_pool(pool, name, problem.pools.emplace_back());
  });
  fields.each("jobs", [&](const json& job, const std::string& name) {
    return parse_job(job, name, problem.jobs.emplace_back());
  });
  if (Status status = fields.finish(); !status) return status.error();
  return problem;
}

std::string to_json(const Allocation& optimum, const std::string& solver) {
  json grants = json::array();
  for (const Allocation::Grant& grant : optimum.grants) {
    grants.push_back({{"id", grant.id},
                      {"rate", grant.rate},
                      {"cores", grant.cores},
                      {"bytes_per_s", grant.bytes_per_s}});
  }
  const json document = {
      {"solver", solver}, {"objective", optimum.objective}, {"grants", grants}};
  return document.dump();
}

}  // namespace penstock::optimum
