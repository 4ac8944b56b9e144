// Databases that are written to while they are read.
#include "loader/lmdb/snapshot.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "common/unique_fd.h"
#include "loader/lmdb/page_source.h"
#include "loader/lmdb/tree_walk.h"
#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"
#include "tests/unit/lmdb/refused_call.h"

using namespace penstock;
using namespace penstock::lmdb;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// A transaction that rewrites all records with one byte.
void rewrite(LmdbWriter& writer, char byte) {
  writer.begin();
  for (uint64_t i = 0; i < 300; ++i) {
    writer.put(number_key(i), std::string(100 + i * 20, byte));
  }
  writer.commit();
}

// A process that rewrites all records with another byte each time, as fast as
// possible, until the destructor ends it.
class OtherWriter {
 public:
  explicit OtherWriter(const std::string& file) : child_(::fork()) {
    if (child_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    LmdbWriter writer(file);
    for (char byte = 'a';; byte = byte == 'z' ? 'a' : char(byte + 1)) {
      rewrite(writer, byte);
    }
  }
  OtherWriter(const OtherWriter&) = delete;
  OtherWriter& operator=(const OtherWriter&) = delete;
  ~OtherWriter() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_;
};

// All pages of the snapshot, read one by one.
Result<std::vector<std::string>> values_of(int fd, const Snapshot& snapshot) {
  FilePages pages(fd, PageBatch());
  std::vector<RecordSpan> spans;
  Status walked = walk_tree(pages, snapshot, [&](const Record& record) {
    spans.push_back(record.value);
  });
  if (!walked) return std::move(walked).error();
  std::vector<std::string> values;
  for (const RecordSpan& span : spans) {
    std::string& value = values.emplace_back(span.bytes, '\0');
    const PageRange range{
        span.offset, {reinterpret_cast<uint8_t*>(value.data()), value.size()}};
    Status got = pages.read({&range, 1});
    if (!got) return std::move(got).error();
  }
  return values;
}

bool are_all(const std::vector<std::string>& values, char byte) {
  for (const std::string& value : values) {
    if (value.find_first_not_of(byte) != value.npos) return false;
  }
  return values.size() == 300;
}

}  // namespace

TEST_CASE(
    "a snapshot stays valid over one transaction, and the second is detected") {
  const TempFolder folder;
  LmdbWriter writer(folder.path("a"));
  rewrite(writer, 'a');
  rewrite(writer, 'b');
  const UniqueFd fd(::open(folder.path("a").c_str(), O_RDONLY | O_CLOEXEC));
  auto snapshot = take_snapshot(fd.get());
  REQUIRE(snapshot);
  CHECK(snapshot->meta.txnid == 2);
  CHECK(check_intact(fd.get(), *snapshot));
  rewrite(writer, 'c');
  auto values = values_of(fd.get(), *snapshot);
  REQUIRE(values);
  CHECK(are_all(*values, 'b'));
  CHECK(check_intact(fd.get(), *snapshot));
  // An open transaction writes to no page of the snapshot either.
  writer.begin();
  for (uint64_t i = 0; i < 300; ++i) {
    writer.put(number_key(i), std::string(5000, 'd'));
  }
  CHECK(are_all(*values_of(fd.get(), *snapshot), 'b'));
  writer.commit();
  Status intact = check_intact(fd.get(), *snapshot);
  REQUIRE_FALSE(intact);
  CHECK(intact.error().code == Code::kUnavailable);
  CHECK_THAT(intact.error().message, ContainsSubstring("is being written"));
}

TEST_CASE("a file overwritten in place is detected") {
  const TempFolder folder;
  write_lmdb(folder.path("a"), std::vector<size_t>(100, 5000), 10);
  write_lmdb(folder.path("b"), std::vector<size_t>(100, 4000), 11);
  const UniqueFd fd(::open(folder.path("a").c_str(), O_RDONLY | O_CLOEXEC));
  auto snapshot = take_snapshot(fd.get());
  REQUIRE(snapshot);
  write_file(folder.path("a"), file_bytes(folder.path("b")));
  CHECK_FALSE(check_intact(fd.get(), *snapshot));
  write_file(folder.path("a"), {});
  Status empty = check_intact(fd.get(), *snapshot);
  REQUIRE_FALSE(empty);
  CHECK(empty.error().code == Code::kIo);
  CHECK_THAT(empty.error().message, ContainsSubstring("has become shorter"));
}

TEST_CASE("the file's bytes show whether the state is still the newest") {
  const TempFolder folder;
  const std::string file = folder.path("a");
  LmdbWriter writer(file);
  rewrite(writer, 'a');
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  const auto snapshot = take_snapshot(fd.get());
  REQUIRE(snapshot);
  CHECK(is_unchanged(file_bytes(file), *snapshot));
  CHECK_FALSE(is_unchanged(Bytes(file_bytes(file)).first(4096), *snapshot));
  rewrite(writer, 'b');
  // One meta page still has this state, but not as the newest.
  CHECK_FALSE(is_unchanged(file_bytes(file), *snapshot));
  CHECK(check_intact(fd.get(), *snapshot));
}

TEST_CASE("a storage error is not reported as a write") {
  const TempFolder folder;
  write_lmdb(folder.path("a"), std::vector<size_t>(100, 10));
  const UniqueFd fd(::open(folder.path("a").c_str(), O_RDONLY | O_CLOEXEC));
  auto snapshot = take_snapshot(fd.get());
  REQUIRE(snapshot);
  CHECK(holds_when_refused(SYS_pread64, EIO, [&] {
    Status failed = check_intact(fd.get(), *snapshot);
    return !failed && failed.error().code == Code::kIo &&
           failed.error().saved_errno == EIO;
  }));
}

TEST_CASE("reads during a write give one transaction's data or are refused") {
  const TempFolder folder;
  const std::string file = folder.path("a");
  {
    LmdbWriter writer(file);
    rewrite(writer, 'a');
  }
  const OtherWriter other(file);
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  int read = 0, refused = 0;
  for (int i = 0; i < 300; ++i) {
    auto snapshot = take_snapshot(fd.get());
    if (!snapshot) {
      CHECK(snapshot.error().code == Code::kUnavailable);
      continue;
    }
    auto values = values_of(fd.get(), *snapshot);
    if (!check_intact(fd.get(), *snapshot)) {
      ++refused;
      continue;
    }
    ++read;
    REQUIRE(values);
    CHECK(are_all(*values, values->front().front()));
  }
  INFO(read << " read, " << refused << " refused");
  CHECK(read + refused > 0);
}

TEST_CASE("a failed walk during a write reports the write") {
  const TempFolder folder;
  const std::string file = folder.path("a");
  {
    LmdbWriter writer(file);
    rewrite(writer, 'a');
  }
  const OtherWriter other(file);
  for (int i = 0; i < 300; ++i) {
    auto database = Database::open(file, {});
    if (database) {
      CHECK(database->index().size() == 300);
    } else {
      CHECK(database.error().code == Code::kUnavailable);
      CHECK_THAT(database.error().message,
                 ContainsSubstring(file + ": the database is being written; "
                                          "try again"));
    }
  }
}
