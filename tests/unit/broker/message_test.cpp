// Tests broker/message.h.
#include "broker/message.h"

#include "broker/cpu_bits.h"
#include "tests/unit/catch.h"

using namespace penstock;

TEST_CASE("a request arrives as it was sent") {
  const BrokerRequest sent{.verb = Verb::kWriteMark,
                           .id = -7,
                           .numbers = {INT64_MIN, 3},
                           .path = "/a/b",
                           .name = "penstock.cpus",
                           .data = std::string("0-3\0x", 5)};
  const auto got = decode_request(encode(sent));
  REQUIRE(got);
  CHECK(got->verb == sent.verb);
  CHECK(got->id == sent.id);
  CHECK(got->numbers[0] == INT64_MIN);
  CHECK(got->numbers[1] == 3);
  CHECK(got->path == sent.path);
  CHECK(got->name == sent.name);
  CHECK(got->data == sent.data);
}

TEST_CASE("a reply arrives with its error or with its data") {
  BrokerReply sent;
  sent.number = UINT64_MAX;
  sent.data = "0-3";
  auto got = decode_reply(encode(sent));
  REQUIRE(got);
  CHECK(got->status);
  CHECK(got->number == UINT64_MAX);
  CHECK(got->data == "0-3");

  sent.status = Error{Code::kLimit, EBUSY, "too much"};
  got = decode_reply(encode(sent));
  REQUIRE(got);
  REQUIRE_FALSE(got->status);
  CHECK(got->status.error().code == Code::kLimit);
  CHECK(got->status.error().saved_errno == EBUSY);
  CHECK(got->status.error().message == "too much");
}

TEST_CASE("a message that was cut, or has other bytes, is refused") {
  const auto whole = encode(BrokerRequest{.verb = Verb::kMove, .path = "/a"});
  for (size_t size = 0; size < whole.size(); ++size) {
    CHECK_FALSE(decode_request(std::span(whole).first(size)));
  }
  auto longer = whole;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decode_request(longer));
  for (const size_t at : {0, 4, 8}) {  // magic, version, verb
    auto other = whole;
    other[at + 1] = std::byte{0xff};
    CHECK_FALSE(decode_request(other));
  }
  CHECK_FALSE(decode_reply(whole));
}

TEST_CASE("sizes over the limits are refused") {
  const auto is_taken = [](const BrokerRequest& request) {
    return decode_request(encode(request)).ok();
  };
  const auto text = [](size_t size) { return std::string(size, 'x'); };
  const Verb verb = Verb::kWriteMark;
  CHECK(is_taken({.verb = verb, .path = text(kMaxBrokerPathBytes)}));
  CHECK_FALSE(is_taken({.verb = verb, .path = text(kMaxBrokerPathBytes + 1)}));
  CHECK(is_taken({.verb = verb, .name = text(kMaxBrokerNameBytes)}));
  CHECK_FALSE(is_taken({.verb = verb, .name = text(kMaxBrokerNameBytes + 1)}));
  CHECK(is_taken({.verb = verb, .data = text(kMaxBrokerDataBytes)}));
  CHECK_FALSE(is_taken({.verb = verb, .data = text(kMaxBrokerDataBytes + 1)}));
}

TEST_CASE("sets of CPUs keep every CPU") {
  for (const char* list : {"", "0", "7-9", "0-4095", "4095"}) {
    const CpuSet cpus = *CpuSet::parse(list);
    CHECK(from_bits(to_bits(cpus)) == cpus);
  }
}
