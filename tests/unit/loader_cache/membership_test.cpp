// Members of a cache file, by the kernel's locks.
#include "loader/cache/membership.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "loader/cache/cache_layout.h"
#include "tests/unit/loader_cache/children.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// A table shared by processes, and the file with their locks.
struct Table {
  UniqueFd fd{::memfd_create("penstock-test", MFD_CLOEXEC)};
  MemberTable* members = nullptr;

  Table() {
    REQUIRE(::ftruncate(fd.get(), sizeof(MemberTable)) == 0);
    void* map = ::mmap(nullptr, sizeof(MemberTable), PROT_READ | PROT_WRITE,
                       MAP_SHARED, fd.get(), 0);
    REQUIRE(map != MAP_FAILED);
    members = static_cast<MemberTable*>(map);
  }
  ~Table() { ::munmap(members, sizeof(MemberTable)); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  Membership join() const {
    auto joined = Membership::join(fd.get(), *members);
    REQUIRE(joined);
    return *std::move(joined);
  }
};

}  // namespace

TEST_CASE("each member gets the lowest free number") {
  const Table table;
  auto first = std::make_unique<Membership>(table.join());
  const Membership second = table.join();
  CHECK(first->number() == 0);
  CHECK(second.number() == 1);
  CHECK(first->pid() == ::getpid());
  CHECK(count_members(table.fd.get()) == 2);
  first.reset();
  CHECK_FALSE(is_member(table.fd.get(), 0));
  CHECK(is_member(table.fd.get(), 1));
  CHECK(table.join().number() == 0);
}

TEST_CASE("a reused number has another generation") {
  const Table table;
  const uint32_t first = table.join().generation();
  const uint32_t second = table.join().generation();
  CHECK(first != second);
  CHECK(table.members->generations[0] == 2);
}

TEST_CASE("a generation is truncated to the bits of a slot") {
  const Table table;
  table.members->generations[0] = SlotWord::kGenerations - 1;
  const Membership member = table.join();
  CHECK(member.generation() == 0);
  CHECK(table.members->generations[0] == SlotWord::kGenerations);
}

TEST_CASE("other processes see a member and get other numbers") {
  const Table table;
  const Membership member = table.join();
  CHECK(in_child([&] {
          if (!is_member(table.fd.get(), member.number())) ::_exit(1);
          const Membership other = table.join();
          if (other.number() != 1) ::_exit(2);
          if (count_members(table.fd.get()) != 2) ::_exit(3);
        }) == 0);
  CHECK(count_members(table.fd.get()) == 1);
}

TEST_CASE("SIGKILL frees a number") {
  const Table table;
  Child child(and_wait([&] { new Membership(table.join()); }));
  REQUIRE(child.wait_until_done());
  CHECK(is_member(table.fd.get(), 0));
  CHECK(has_members(table.fd.get()));
  CHECK(child.kill() == 128 + SIGKILL);
  CHECK_FALSE(is_member(table.fd.get(), 0));
  CHECK_FALSE(has_members(table.fd.get()));
}

TEST_CASE("a stopped process keeps its number") {
  const Table table;
  Child child(and_wait([&] { new Membership(table.join()); }));
  REQUIRE(child.wait_until_done());
  child.stop();
  CHECK(is_member(table.fd.get(), 0));
}

TEST_CASE("a number stays in use while parent or child lives") {
  const Table table;
  auto member = std::make_unique<Membership>(table.join());
  Child child(and_wait([] {}));
  REQUIRE(child.wait_until_done());
  member.reset();
  CHECK(is_member(table.fd.get(), 0));
  child.kill();
  CHECK_FALSE(is_member(table.fd.get(), 0));
}

TEST_CASE("a shut cache cannot be joined, and a cache in use cannot be shut") {
  const Table table;
  auto member = std::make_unique<Membership>(table.join());
  auto other = std::make_unique<Membership>(table.join());
  CHECK_FALSE(member->shut());
  CHECK_FALSE(shut_out_cache_members(table.fd.get()));
  CHECK(is_member(table.fd.get(), 0));  // it keeps its own number
  other.reset();
  CHECK(member->shut());
  auto late = Membership::join(table.fd.get(), *table.members);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Code::kLimit);
  member.reset();
  CHECK(table.join().number() == 0);
  CHECK(shut_out_cache_members(table.fd.get()));
  CHECK_FALSE(Membership::join(table.fd.get(), *table.members));
}

TEST_CASE("a 1025th member is refused until another one ends") {
  const Table table;
  Child child(and_wait([&] {
    for (uint32_t i = 0; i < 600; ++i) new Membership(table.join());
  }));
  REQUIRE(child.wait_until_done());
  std::vector<Membership> members;
  std::set<uint32_t> numbers;
  for (uint32_t i = 600; i < kMembers; ++i) {
    members.push_back(table.join());
    CHECK(numbers.insert(members.back().number()).second);
  }
  CHECK(count_members(table.fd.get()) == kMembers);
  auto late = Membership::join(table.fd.get(), *table.members);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Code::kLimit);
  CHECK_THAT(late.error().message, ContainsSubstring("1024 processes"));
  members.erase(members.begin());
  CHECK(table.join().number() == 600);
  child.kill();
  CHECK(table.join().number() == 0);
}

TEST_CASE("processes that join at the same time have different numbers") {
  const Table table;
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 20; ++i) {
    children.push_back(std::make_unique<Child>(
        and_wait([&] { new Membership(table.join()); })));
  }
  for (const auto& child : children) REQUIRE(child->wait_until_done());
  CHECK(count_members(table.fd.get()) == 20);
}

TEST_CASE("a file that cannot be opened is an error") {
  const Table table;
  auto gone = Membership::join(-1, *table.members);
  REQUIRE_FALSE(gone);
  CHECK_THAT(gone.error().message, ContainsSubstring("cannot open the cache"));
}

TEST_CASE("without permission to ask, all processes count as alive") {
  CHECK(has_members(-1));
  CHECK(is_member(-1, 0));
  CHECK_FALSE(shut_out_cache_members(-1));
}
