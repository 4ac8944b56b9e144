#include "bench/optimum/problem_json.h"

#include "wire/field_reader.h"

namespace penstock::allocator {

template <class Visitor>
void visit_fields(Visitor& visit, Job::Point& it) {
  visit("rate", it.rate);
  visit("cores", it.cores);
}

template <class Visitor>
void visit_fields(Visitor& visit, Job& it) {
  visit("id", it.id, {.optional = true});
  visit("weight", it.weight, {.optional = true});
  visit("floor", it.floor, {.optional = true});
  visit("ceiling", it.ceiling);
  visit("bytes_per_rate", it.bytes_per_rate, {.optional = true});
  visit("pool", it.pool, {-1, 1000000, /*optional=*/true});
  visit("max_cores", it.max_cores, {.optional = true});
  visit("cores_curve", it.cores_curve);
}

template <class Visitor>
void visit_fields(Visitor& visit, Problem& it) {
  visit("cores", it.cores);
  visit("ingest_bytes_per_s", it.ingest_bytes_per_s, {.optional = true});
  visit("pools", it.pools, {.optional = true});
  visit("jobs", it.jobs);
}

}  // namespace penstock::allocator

namespace penstock::optimum {
namespace {

using allocator::Allocation;
using allocator::Problem;
using nlohmann::json;

constexpr int kDeepest = 16;

bool is_object(const FieldFault& fault) {
  return std::string_view(fault.type) == "an object";
}

const char* reason_of(const FieldFault& fault) {
  switch (fault.kind) {
    case FieldFault::Kind::kMissing:
      return "is missing";
    case FieldFault::Kind::kUnknown:
      return "is not a field";
    case FieldFault::Kind::kType:
      if (is_object(fault)) return "is not an object";
      return fault.in_list ? "is not a number" : "has the wrong type";
    default:
      return "is out of range";
  }
}

Error error_of(const FieldFault& fault) {
  const bool is_entry = fault.in_list && is_object(fault);
  return invalid("\"" + fault.path + (is_entry ? "." : "") + "\" " +
                 reason_of(fault));
}

constexpr FieldDialect kDialect = {.refuses_unknown = true,
                                   .separator = ".",
                                   .shows_index = true,
                                   .error_of = error_of};

}  // namespace

Result<Problem> parse_problem(std::string_view text) {
  const json document = parse_json(text, kDeepest).document;
  if (document.is_discarded()) return invalid("the problem is not JSON");
  return read_fields<Problem>(document, kDialect);
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
