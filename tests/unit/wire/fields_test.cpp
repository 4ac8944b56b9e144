#include <cmath>

#include "tests/unit/catch.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"

namespace penstock {

enum class Colour { kRed, kBlue };
const char* colour_name(Colour colour) {
  return colour == Colour::kRed ? "red" : "blue";
}

struct Inner {
  double share = 0;
  std::vector<uint64_t> counts;
  friend bool operator==(const Inner&, const Inner&) = default;
};
struct Outer {
  uint32_t id = 0;
  int offset = 0;
  bool on = false;
  std::string name;
  Colour colour = Colour::kRed;
  std::vector<Inner> inner;
  std::optional<double> maybe;
  std::optional<Inner> last;
  double later = 7;
  friend bool operator==(const Outer&, const Outer&) = default;
};

template <class Visitor, ConstOrNot<Inner> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("share", it.share, {0, 1});
  visit("counts", it.counts, {.most = 3});
}

template <class Visitor, ConstOrNot<Outer> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("id", it.id, {1, 9});
  visit("offset", it.offset, {-1, 5});
  visit("name", it.name, {.most = 5});
  visit("colour", it.colour, {2, colour_name});
  visit("inner", it.inner, {.most = 2});
  visit.object("more", [&it](auto& more) {
    more("on", it.on);
    more("maybe", it.maybe);
  });
  visit("last", it.last, {.omit_default = true});
  visit("later", it.later, {.optional = true});
  visit.require(it.offset < int(it.id), "offset", "less than id");
}

namespace {

using nlohmann::json;
using Null = FieldDialect::Null;
using Kind = FieldFault::Kind;

// "path kind type": all parts that an error's text can use.
Error error_of(const FieldFault& fault) {
  constexpr const char* kKinds[] = {"missing", "type",    "range",
                                    "many",    "unknown", "rule"};
  return invalid(fault.path + " " + kKinds[int(fault.kind)] + " " + fault.type +
                 (fault.in_list ? " in a list" : ""));
}

FieldDialect dialect(Null null) {
  return {.null = null,
          .separator = ".",
          .shows_index = true,
          .error_of = error_of};
}

Outer full() {
  return {3,
          -1,
          true,
          "abc",
          Colour::kBlue,
          {{0.5, {1, 2}}, {1, {}}},
          2.5,
          Inner{0.25, {7}},
          8};
}

std::string error_with(const char* pointer, const json& value,
                       Null null = Null::kRefused) {
  json changed = write_fields<json>(full());
  changed[json::json_pointer(pointer)] = value;
  const Result<Outer> read = read_fields<Outer>(changed, dialect(null));
  return read ? "" : read.error().message;
}

TEST_CASE("described fields read back unchanged") {
  for (const Null null : {Null::kRefused, Null::kOptional, Null::kIsMissing}) {
    const Result<Outer> again =
        read_fields<Outer>(write_fields<json>(full()), dialect(null));
    REQUIRE(again);
    CHECK(*again == full());
  }
}

TEST_CASE("fields are written in the description's order, or sorted") {
  CHECK(write_fields<nlohmann::ordered_json>(Inner{0.5, {1, 2}}).dump() ==
        R"({"share":0.5,"counts":[1,2]})");
  CHECK(write_fields<json>(Inner{0.5, {1, 2}}).dump() ==
        R"({"counts":[1,2],"share":0.5})");
  CHECK_FALSE(write_fields<json>(Outer()).contains("last"));
  CHECK(write_fields<json>(Outer())["more"]["maybe"].is_null());
}

TEST_CASE("the error for a refused field has its path, fault and type") {
  CHECK(error_with("/id", 0u) == "id range a whole number");
  CHECK(error_with("/id", 10u) == "id range a whole number");
  CHECK(error_with("/id", -1) == "id type a whole number");
  CHECK(error_with("/id", 1.5) == "id type a whole number");
  CHECK(error_with("/offset", -2) == "offset range a whole number");
  CHECK(error_with("/offset", UINT64_MAX - 1) == "offset range a whole number");
  CHECK(error_with("/offset", 4) == "offset rule ");
  CHECK(error_with("/name", "abcdef") == "name range a text");
  CHECK(error_with("/name", 7) == "name type a text");
  CHECK(error_with("/colour", "green") == "colour range a name");
  CHECK(error_with("/colour", 1) == "colour type a name");
  CHECK(error_with("/more", 1) == "more type an object");
  CHECK(error_with("/more/on", "yes") == "more.on type true or false");
  CHECK(error_with("/inner", 1) == "inner type a list");
  CHECK(error_with("/inner", json::array_t(3)) == "inner many a list");
  CHECK(error_with("/inner/1", 1) == "inner[1] type an object in a list");
  CHECK(error_with("/inner/1/share", 1.5) == "inner[1].share range a number");
  CHECK(error_with("/inner/1/share", NAN) == "inner[1].share range a number");
  CHECK(error_with("/inner/0/counts/1", -1) ==
        "inner[0].counts[1] type a whole number in a list");
  CHECK(error_with("/last/share", "x") == "last.share type a number");
  CHECK(error_with("/unknown", 1).empty());
}

TEST_CASE("the dialect determines the handling of missing and null fields") {
  const auto without = [](const char* key, Null null) {
    json changed = write_fields<json>(full());
    changed.erase(key);
    const Result<Outer> read = read_fields<Outer>(changed, dialect(null));
    return read ? "" : read.error().message;
  };
  for (const Null null : {Null::kRefused, Null::kOptional, Null::kIsMissing}) {
    CHECK(without("id", null) == "id missing a whole number");
    CHECK(without("more", null) == "more missing an object");
    CHECK(without("later", null).empty());
    CHECK(error_with("/id", nullptr, null) == "id type a whole number");
  }
  CHECK(without("last", Null::kRefused).empty());
  CHECK(without("last", Null::kOptional) == "last missing an object");
  CHECK(without("last", Null::kIsMissing).empty());
  CHECK(error_with("/last", nullptr, Null::kRefused) == "last type an object");
  CHECK(error_with("/last", nullptr, Null::kOptional).empty());
  CHECK(error_with("/later", nullptr, Null::kOptional) ==
        "later type a number");
  CHECK(error_with("/later", nullptr, Null::kIsMissing).empty());
}

TEST_CASE("a dialect limits numbers and texts, and may refuse unknown fields") {
  json good = write_fields<json>(full());
  FieldDialect strict = dialect(Null::kIsMissing);
  strict.high = 2;
  CHECK(read_fields<Outer>(good, strict).error().message ==
        "more.maybe range a number");
  strict.high = 10;
  strict.text_bytes = 2;
  CHECK(read_fields<Outer>(good, strict)->name == "ab");
  strict.text_bytes = SIZE_MAX;
  strict.printable_bytes = 5;
  good["name"] = "a\nb";
  CHECK(read_fields<Outer>(good, strict)->name == "a?b");
  strict.refuses_unknown = true;
  CHECK(read_fields<Outer>(good, strict));
  good["inner"][0]["x"] = 1;
  CHECK(read_fields<Outer>(good, strict).error().message ==
        "inner[0].x unknown ");
}

TEST_CASE("without refusals, a field of another type counts as missing") {
  const json odd = {{"id", "x"}, {"offset", 4}, {"inner", {{{"share", 5}}}}};
  const Result<Outer> read = read_fields<Outer>(odd, {});
  REQUIRE(read);
  CHECK(read->id == 0);
  CHECK(read->offset == 4);
  CHECK(read_fields<Outer>(json("x"), {}));
}

TEST_CASE("paths may begin with a name and omit indexes") {
  FieldDialect names = dialect(Null::kRefused);
  names.separator = ": ";
  names.shows_index = false;
  json bad = write_fields<json>(full());
  bad["inner"][1]["share"] = -1;
  CHECK(read_fields<Outer>(bad, names, "outer").error().message ==
        "outer: inner: share range a number");
  CHECK(read_fields<Outer>(json(1), names, "outer").error().message ==
        "outer type an object");
}

TEST_CASE("JSON is read up to a depth") {
  const std::string text = R"({"a": {"b": {"c": 1}}, "d": 2})";
  CHECK_FALSE(parse_json(text, 3).is_too_deep);
  const ParsedJson cut = parse_json(text, 1);
  CHECK(cut.is_too_deep);
  CHECK(cut.document["d"] == 2);
  CHECK(parse_json("{", 3).document.is_discarded());
  CHECK(parse_json(std::string(100000, '['), 3).is_too_deep);
}

}  // namespace
}  // namespace penstock
