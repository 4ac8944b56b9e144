#include "wire/envelope.h"

#include <limits>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

Envelope sample() {
  Envelope envelope;
  envelope.type = "hello";
  envelope.node = "n1";
  envelope.session = 0xfedcba9876543210;
  envelope.sequence = 7;
  envelope.sent_unix_s = 1780000000.25;
  envelope.body = {{"cores", 24}, {"name", "x"}};
  return envelope;
}

json sample_json() { return json::parse(*pack(sample())); }

TEST_CASE("an envelope reads back unchanged") {
  Result<std::string> text = pack(sample());
  REQUIRE(text);
  Result<Envelope> back = unpack(*text);
  REQUIRE(back);
  CHECK(back->version == kOldestControllerProtocol);
  CHECK(back->newest_version == kControllerProtocol);
  CHECK(back->type == "hello");
  CHECK(back->node == "n1");
  CHECK(back->session == 0xfedcba9876543210);
  CHECK(back->sequence == 7);
  CHECK(back->sent_unix_s == 1780000000.25);
  CHECK(back->body == sample().body);
}

TEST_CASE("the text has the fields of docs/protocol.md") {
  CHECK(sample_json() == json{{"version", 1},
                              {"newest_version", 1},
                              {"type", "hello"},
                              {"node", "n1"},
                              {"session", "fedcba9876543210"},
                              {"sequence", 7},
                              {"sent_unix_s", 1780000000.25},
                              {"body", {{"cores", 24}, {"name", "x"}}}});
}

TEST_CASE("invalid UTF-8 of a user does not stop a message") {
  Envelope envelope = sample();
  envelope.body = {{"name", "a\xff"}};
  Result<std::string> text = pack(envelope);
  REQUIRE(text);
  Result<Envelope> back = unpack(*text);
  REQUIRE(back);
  CHECK(back->body["name"] == "a\xef\xbf\xbd");
}

TEST_CASE("the error names a field that is missing or of another type") {
  const json good = sample_json();
  for (const auto& [key, value] : good.items()) {
    INFO(key);
    json missing = good;
    missing.erase(key);
    Result<Envelope> read = unpack(missing.dump());
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Code::kInvalidArgument);
    CHECK_THAT(read.error().message, ContainsSubstring(key));
    json other = good;
    other[key] = json::array({1});
    read = unpack(other.dump());
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Code::kInvalidArgument);
    CHECK_THAT(read.error().message, ContainsSubstring(key));
  }
}

TEST_CASE("the error names a field out of range") {
  struct Row {
    const char* key;
    json value;
  };
  for (const Row& row : {Row{"version", 4294967296},
                         Row{"version", -1},
                         Row{"version", 1.5},
                         Row{"newest_version", 0},
                         Row{"type", ""},
                         Row{"type", "Hello"},
                         Row{"type", "a b"},
                         Row{"type", std::string(33, 'a')},
                         Row{"node", ""},
                         Row{"node", "a b"},
                         Row{"node", "a\n"},
                         Row{"node", "\u00e4"},
                         Row{"node", std::string(65, 'a')},
                         Row{"session", "0000000000000000"},
                         Row{"session", "12"},
                         Row{"session", "00000000000000001"},
                         Row{"session", "-000000000000001"},
                         Row{"session", "000000000000000x"},
                         Row{"sequence", 0},
                         Row{"sequence", -1},
                         Row{"sent_unix_s", -1},
                         Row{"sent_unix_s", 1e300},
                         Row{"body", "text"}}) {
    json bad = sample_json();
    bad[row.key] = row.value;
    INFO(bad.dump());
    Result<Envelope> read = unpack(bad.dump());
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Code::kInvalidArgument);
    CHECK_THAT(read.error().message, ContainsSubstring(row.key));
  }
}

TEST_CASE("an envelope that a receiver would refuse is not packed") {
  const auto spoiled = [](auto spoil) {
    Envelope envelope = sample();
    spoil(envelope);
    return pack(envelope);
  };
  CHECK_FALSE(spoiled([](Envelope& it) { it.version = 99; }));
  CHECK_FALSE(spoiled([](Envelope& it) { it.type = ""; }));
  CHECK_FALSE(spoiled([](Envelope& it) { it.node = "a b"; }));
  CHECK_FALSE(spoiled([](Envelope& it) { it.session = 0; }));
  CHECK_FALSE(spoiled([](Envelope& it) { it.sequence = 0; }));
  CHECK_FALSE(spoiled([](Envelope& it) {
    it.sent_unix_s = std::numeric_limits<double>::quiet_NaN();
  }));
  CHECK_FALSE(spoiled([](Envelope& it) { it.body = 1; }));
  Result<std::string> large = spoiled([](Envelope& it) {
    it.body = {{"x", std::string(kMaxEnvelopeBytes, 'x')}};
  });
  REQUIRE_FALSE(large);
  CHECK(large.error().code == Code::kLimit);
}

TEST_CASE("texts that are not an envelope are refused") {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("1"),
        std::string("null"), pack(sample())->substr(1),
        *pack(sample()) + "x"}) {
    Result<Envelope> read = unpack(text);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Code::kInvalidArgument);
  }
  Result<Envelope> large = unpack(std::string(kMaxEnvelopeBytes + 1, ' '));
  REQUIRE_FALSE(large);
  CHECK(large.error().code == Code::kLimit);
  Result<Envelope> deep =
      unpack(R"({"body":)" + std::string(100000, '[') + "}");
  REQUIRE_FALSE(deep);
  CHECK(deep.error().code == Code::kLimit);
}

TEST_CASE("this version and the previous one are accepted, no other") {
  json message = sample_json();
  for (uint32_t version : {kOldestControllerProtocol, kControllerProtocol}) {
    message["version"] = version;
    message["newest_version"] = version + 1;  // a newer sender that speaks ours
    CHECK(unpack(message.dump()));
  }
  for (uint32_t version :
       {kOldestControllerProtocol - 1, kControllerProtocol + 1, 99u}) {
    message["version"] = version;
    message["newest_version"] = version;
    Result<Envelope> read = unpack(message.dump());
    REQUIRE_FALSE(read);
    CHECK_THAT(
        read.error().message,
        ContainsSubstring("protocol version " + std::to_string(version)));
    CHECK_THAT(read.error().message, ContainsSubstring("upgrade"));
  }
  CHECK(common_version(kControllerProtocol + 3) == kControllerProtocol);
  CHECK(common_version(kOldestControllerProtocol) == kOldestControllerProtocol);
}

TEST_CASE("a sender numbers its messages and learns its peer's version") {
  Sender sender("n1", 5);
  Envelope first = sender.next("hello", {{"a", 1}}, 100);
  Envelope second = sender.next("event", json::object(), 101);
  CHECK(first.version == kOldestControllerProtocol);
  CHECK(first.session == 5);
  CHECK(first.sequence == 1);
  CHECK(second.sequence == 2);
  CHECK(second.sent_unix_s == 101);
  CHECK(pack(first));
  Envelope answer = sample();
  answer.newest_version = kControllerProtocol + 1;
  sender.heard(answer);
  CHECK(sender.next("event", json::object(), 102).version ==
        kControllerProtocol);
  sender.met_anew();
  CHECK(sender.next("event", json::object(), 103).version ==
        kOldestControllerProtocol);
}

}  // namespace
}  // namespace penstock
