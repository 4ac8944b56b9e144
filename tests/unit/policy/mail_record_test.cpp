#include "tools/policy/mail_record.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/catch.h"

using namespace penstock;
using penstock::policy::MailRecord;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/penstock-policy-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file() const { return path + "/mails"; }
  void write(const std::string& text) const {
    std::ofstream(file(), std::ios::binary) << text;
  }
  std::string path;
};

std::string message(const Result<MailRecord>& record) {
  REQUIRE_FALSE(record.ok());
  return record.error().message;
}

}  // namespace

TEST_CASE("a new record knows of no mail, and is its owner's alone") {
  const Folder folder;
  const auto record = MailRecord::open(folder.file());
  REQUIRE(record.ok());
  CHECK_FALSE(record->last_unix_s(1000));
  struct stat info {};
  REQUIRE(::stat(folder.file().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("the last mail of each user is kept") {
  const Folder folder;
  {
    auto record = MailRecord::open(folder.file());
    REQUIRE(record.ok());
    REQUIRE(record->add(1000, 1780000000).ok());
    REQUIRE(record->add(1001, 1780000001).ok());
    REQUIRE(record->add(1000, 1780600000).ok());
    CHECK(record->last_unix_s(1000) == 1780600000.0);
  }
  const auto record = MailRecord::open(folder.file());
  REQUIRE(record.ok());
  CHECK(record->last_unix_s(1000) == 1780600000.0);
  CHECK(record->last_unix_s(1001) == 1780000001.0);
  CHECK_FALSE(record->last_unix_s(1002));
}

TEST_CASE("a line that a crash has cut is no error") {
  const Folder folder;
  for (const char* cut : {"17", "1780000005", "1780000005 10"}) {
    folder.write(std::string("1780000000 1001\n") + cut);
    {
      auto record = MailRecord::open(folder.file());
      CAPTURE(cut);
      REQUIRE(record.ok());
      CHECK(record->last_unix_s(1001) == 1780000000.0);
      REQUIRE(record->add(1002, 1780000009).ok());
    }
    const auto again = MailRecord::open(folder.file());
    REQUIRE(again.ok());
    CHECK(again->last_unix_s(1002) == 1780000009.0);
  }
}

TEST_CASE("two processes cannot send at once") {
  const Folder folder;
  const auto first = MailRecord::open(folder.file());
  REQUIRE(first.ok());
  const auto second = MailRecord::open(folder.file());
  CHECK(message(second) ==
        folder.file() + ": another penstock policy sends mails now");
  CHECK(second.error().code == Code::kUnavailable);
}

TEST_CASE("another file is refused with the line") {
  const Folder folder;
  for (const char* text :
       {"x\n", "{}", "secret", "1 2 3", "1780000000 1000\nhello world\n",
        "1780000000 -1\n", "1780000000 99999999999\n"}) {
    folder.write(text);
    const auto record = MailRecord::open(folder.file());
    CHECK_THAT(message(record),
               Catch::Matchers::StartsWith(folder.file() + ": line ") &&
                   Catch::Matchers::EndsWith(
                       ": not a time and a user; move the file away"));
    std::ifstream file(folder.file(), std::ios::binary);
    CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == text);
  }
}

TEST_CASE("a record that is only read is not made, and not locked") {
  const Folder folder;
  const auto none = MailRecord::read(folder.file());
  REQUIRE(none.ok());
  CHECK_FALSE(none->last_unix_s(1000));
  CHECK_FALSE(std::filesystem::exists(folder.file()));
  auto sender = MailRecord::open(folder.file());
  REQUIRE(sender.ok());
  REQUIRE(sender->add(1000, 1780000000).ok());
  CHECK(MailRecord::read(folder.file())->last_unix_s(1000) == 1780000000.0);
}

TEST_CASE("a record that others may write is refused") {
  const Folder folder;
  folder.write("1780000000 1000\n");
  REQUIRE(::chmod(folder.file().c_str(), 0666) == 0);
  CHECK(MailRecord::open(folder.file()).error().code ==
        Code::kPermissionDenied);
  CHECK(MailRecord::read(folder.file()).error().code ==
        Code::kPermissionDenied);
}

TEST_CASE("a mail that cannot be noted leaves the record as it was") {
  const Folder folder;
  ::signal(SIGXFSZ, SIG_IGN);
  auto record = MailRecord::open(folder.file());
  REQUIRE(record.ok());
  REQUIRE(record->add(1000, 1780000000).ok());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit full{20, before.rlim_max};  // within the next line
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
  const Status noted = record->add(1001, 1780000001);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK_FALSE(noted.ok());
  CHECK_FALSE(record->last_unix_s(1001));
  REQUIRE(record->add(1002, 1780000002).ok());
  const auto again = MailRecord::read(folder.file());
  REQUIRE(again.ok());
  CHECK(again->last_unix_s(1002) == 1780000002.0);
}

TEST_CASE("a link is not followed") {
  const Folder folder;
  std::filesystem::create_symlink(folder.path + "/elsewhere", folder.file());
  CHECK_FALSE(MailRecord::open(folder.file()).ok());
  CHECK_FALSE(std::filesystem::exists(folder.path + "/elsewhere"));
}
