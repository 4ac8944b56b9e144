#include "bench/submit/submission_reader.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "tests/unit/catch.h"
#include "tests/unit/spank_plugin/temp_dir.h"

using namespace penstock;  // NOLINT: the unit under test
using job_submit::Submission;

namespace {

Submission numbered(uint64_t number) {
  Submission it{};
  it.magic = job_submit::kSubmissionMagic;
  it.version = job_submit::kSubmissionVersion;
  it.size_bytes = sizeof it;
  it.kind = job_submit::kSubmitted;
  it.number = number;
  it.nodes = it.tasks_per_node = 1;
  return it;
}

bool send_to(const std::string& path, const void* packet, size_t size) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return ::sendto(fd.get(), packet, size, MSG_DONTWAIT,
                  reinterpret_cast<sockaddr*>(&address),
                  sizeof address) == static_cast<ssize_t>(size);
}

bool send_number(const std::string& path, uint64_t number) {
  const Submission it = numbered(number);
  return send_to(path, &it, sizeof it);
}

}  // namespace

TEST_CASE("submission_reader: forwards all datagrams") {
  TempDir directory;
  const std::string path = directory.path("s");
  auto reader = SubmissionReader::start(path);
  REQUIRE(reader);
  for (uint64_t i = 1; i <= 5; ++i) {
    REQUIRE(send_number(path, i));
    const auto got = reader->next();
    REQUIRE(got);
    CHECK(got->number == i);
  }
  REQUIRE(send_number(path, 6));
  REQUIRE(send_number(path, 7));
  CHECK(reader->last()->number == 7);
}

TEST_CASE("submission_reader: a stopped reader lets its queue fill") {
  TempDir directory;
  const std::string path = directory.path("s");
  auto reader = SubmissionReader::start(path);
  REQUIRE(reader);
  reader->stop();
  uint64_t sent = 0;
  while (sent < 100000 && send_number(path, sent + 1)) ++sent;
  CHECK(sent < 100000);
  reader->go_on();
  CHECK(reader->last()->number == sent);
}

TEST_CASE("submission_reader: an unknown datagram is an error") {
  TempDir directory;
  const std::string path = directory.path("s");
  auto reader = SubmissionReader::start(path);
  REQUIRE(reader);
  REQUIRE(send_to(path, "hello", 5));
  CHECK_FALSE(reader->next());
  CHECK_FALSE(SubmissionReader::start(path));
}
