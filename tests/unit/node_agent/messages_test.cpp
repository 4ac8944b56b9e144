#include "node_agent/messages.h"

#include <cstring>
#include <span>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

template <class T>
T message_of(uint16_t type) {
  T message{};
  message.header = {PENSTOCK_MAGIC, PENSTOCK_PROTOCOL_VERSION, type,
                    sizeof message, 7};
  return message;
}

penstock_task_start valid_start() {
  auto start = message_of<penstock_task_start>(PENSTOCK_TASK_START);
  start.job_id = 12;
  start.pid = 4711;
  start.uid = 1000;
  return start;
}

template <class T>
std::span<const std::byte> bytes(const T& message) {
  return {reinterpret_cast<const std::byte*>(&message), sizeof message};
}

template <class T>
std::string error_of(const T& message) {
  auto decoded = decode_message(bytes(message), {});
  return decoded ? "" : decoded.error().message;
}

}  // namespace

TEST_CASE("a well-formed message is decoded") {
  auto decoded = decode_message(bytes(valid_start()), {});
  REQUIRE(decoded.ok());
  CHECK(std::get<penstock_task_start>(*decoded).job_id == 12);
  CHECK(is_root_only(*decoded));
  CHECK(request_id_of(bytes(valid_start())) == 7);
}

TEST_CASE("messages of a job do not require root") {
  CHECK_FALSE(is_root_only(
      *decode_message(bytes(message_of<penstock_hello>(PENSTOCK_HELLO)), {})));
  CHECK_FALSE(is_root_only(*decode_message(
      bytes(message_of<penstock_status>(PENSTOCK_STATUS)), {})));
}

TEST_CASE("a packet shorter than a header is refused") {
  auto start = valid_start();
  CHECK_FALSE(decode_message(bytes(start).first(3), {}).ok());
  CHECK(request_id_of(bytes(start).first(3)) == 0);
}

TEST_CASE("each wrong header field is named") {
  auto start = valid_start();
  start.header.magic = 1;
  CHECK_THAT(error_of(start), Catch::Matchers::ContainsSubstring("magic"));
  start = valid_start();
  start.header.version = 9;
  CHECK_THAT(error_of(start), Catch::Matchers::ContainsSubstring("version: 9"));
  start = valid_start();
  start.header.size_bytes = 4000;
  CHECK_THAT(error_of(start),
             Catch::Matchers::ContainsSubstring("size_bytes: 4000"));
  start = valid_start();
  start.header.type = 77;
  CHECK_THAT(error_of(start), Catch::Matchers::ContainsSubstring("type: 77"));
  start.header.type = PENSTOCK_HELLO;  // of another size
  CHECK_THAT(error_of(start), Catch::Matchers::ContainsSubstring("size"));
}

TEST_CASE("hostile fields of a task start are refused") {
  auto start = valid_start();
  start.job_id = 0;
  CHECK_THAT(error_of(start), Catch::Matchers::ContainsSubstring("job_id"));
  start = valid_start();
  start.pid = 1;
  CHECK_THAT(error_of(start), Catch::Matchers::ContainsSubstring("pid"));
  start = valid_start();
  std::strcpy(start.gpus, "0\n1");
  CHECK_THAT(error_of(start), Catch::Matchers::ContainsSubstring("gpus"));
  start = valid_start();
  start.options.mode = 99;
  CHECK(error_of(start) != "");
  start = valid_start();
  start.options.weight_milli = 5000;
  CHECK(error_of(start) != "");
  CHECK(decode_message(bytes(start), {.max_weight = 5.0}).ok());
}

TEST_CASE("the start of a job requires root, and its account is checked") {
  auto start = message_of<penstock_job_start>(PENSTOCK_JOB_START);
  start.job_id = 12;
  std::memset(start.account, 'a', sizeof start.account);
  auto decoded = decode_message(bytes(start), {});
  REQUIRE(decoded.ok());
  CHECK(is_root_only(*decoded));
  CHECK(fixed_text(std::get<penstock_job_start>(*decoded).account).size() ==
        sizeof start.account);
  start.account[3] = '\n';
  CHECK_THAT(error_of(start), Catch::Matchers::ContainsSubstring("account"));
  start.account[3] = 'a';
  start.job_id = 0;
  CHECK_THAT(error_of(start), Catch::Matchers::ContainsSubstring("job_id"));
}

TEST_CASE("only root asks for a job's notice") {
  const auto asked = message_of<penstock_notice>(PENSTOCK_NOTICE);
  const auto decoded = decode_message(bytes(asked), {});
  REQUIRE(decoded.ok());
  CHECK(is_root_only(*decoded));
}

TEST_CASE("only root switches Penstock off and on") {
  auto wanted = message_of<penstock_switch>(PENSTOCK_SWITCH);
  for (uint32_t off : {0u, 1u}) {
    wanted.off = off;
    auto decoded = decode_message(bytes(wanted), {});
    REQUIRE(decoded.ok());
    CHECK(is_root_only(*decoded));
    CHECK(std::get<penstock_switch>(*decoded).off == off);
  }
  wanted.off = 2;
  CHECK_THAT(error_of(wanted),
             Catch::Matchers::ContainsSubstring("off: 2; allowed: 0 and 1"));
}

TEST_CASE("a job may request limits of cores and bandwidth within bounds") {
  auto asked = message_of<penstock_limit>(PENSTOCK_LIMIT);
  for (uint32_t millicores : {0u, 100u, 4096000u}) {
    asked.millicores = millicores;
    auto decoded = decode_message(bytes(asked), {});
    REQUIRE(decoded.ok());
    CHECK_FALSE(is_root_only(*decoded));
    CHECK(std::get<penstock_limit>(*decoded).millicores == millicores);
  }
  for (uint32_t millicores : {1u, 99u, 4096001u}) {
    asked.millicores = millicores;
    CHECK_THAT(error_of(asked), Catch::Matchers::ContainsSubstring(
                                    "allowed: 0, and 100 to 4096000"));
  }
  asked.millicores = 0;
  asked.bytes_per_s = 1'000'000'000'000'000;
  CHECK(decode_message(bytes(asked), {}));
  asked.bytes_per_s += 1;
  CHECK_THAT(error_of(asked),
             Catch::Matchers::ContainsSubstring("bytes_per_s: "));
  asked.bytes_per_s = 0;
  asked.ends = 2;
  CHECK_THAT(error_of(asked),
             Catch::Matchers::ContainsSubstring("ends: 2; allowed: 0 and 1"));
}

TEST_CASE("a field may be filled to its last byte") {
  auto start = valid_start();
  std::memset(start.job_name, 'a', sizeof start.job_name);
  REQUIRE(decode_message(bytes(start), {}).ok());
  CHECK(fixed_text(start.job_name).size() == sizeof start.job_name);
}
