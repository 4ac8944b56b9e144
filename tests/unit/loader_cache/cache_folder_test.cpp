// The folder of a user's caches, which no other user can replace.
#include "loader/cache/cache_folder.h"

#include <sys/fsuid.h>
#include <sys/stat.h>

#include <memory>
#include <thread>

#include "tests/unit/loader_cache/cache_case.h"
#include "tests/unit/loader_cache/children.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uid_t kOther = 54321;

struct FolderCase : CacheCase {
  CacheOwner owner{.base = base(), .user = ::geteuid(), .group = {}};
  std::string path = cache_folder_path(owner);
};

struct stat status_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status;
}

void check_refused(const CacheOwner& owner, const std::string& why) {
  auto folder = open_cache_folder(owner);
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == Code::kPermissionDenied);
  CHECK_THAT(folder.error().message,
             ContainsSubstring(cache_folder_path(owner)) &&
                 ContainsSubstring(why) &&
                 ContainsSubstring("PENSTOCK_CACHE_DIR"));
}

size_t entries_in(const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    count += entry.path().empty() ? 0 : 1;
  }
  return count;
}

}  // namespace

TEST_CASE("only the user can access the user's folder") {
  const FolderCase test;
  CHECK(test.path ==
        test.base() + "/penstock-cache-" + std::to_string(::geteuid()));
  ::umask(0);
  REQUIRE(open_cache_folder(test.owner));
  ::umask(022);
  CHECK((status_of(test.path).st_mode & 07777) == 0700);
  REQUIRE(open_cache_folder(test.owner));
  CHECK(entries_in(test.base()) == 1);
}

TEST_CASE("members share the group's folder, and new files get its group") {
  FolderCase test;
  test.owner.group = ::getegid();
  test.path = cache_folder_path(test.owner);
  CHECK(test.path ==
        test.base() + "/penstock-cache-g" + std::to_string(::getegid()));
  ::umask(077);
  REQUIRE(open_cache_folder(test.owner));
  ::umask(022);
  CHECK((status_of(test.path).st_mode & 07777) == 02770);
  CHECK(status_of(test.path).st_gid == ::getegid());
  REQUIRE(open_cache_folder(test.owner));
}

TEST_CASE("a member of the group uses another member's folder") {
  if (::geteuid() != 0) return;  // only root can change its user
  FolderCase test;
  std::filesystem::permissions(test.base(), std::filesystem::perms::all);
  test.owner.group = kOther;
  CHECK(in_child([&] {
          if (::setgid(kOther) != 0 || ::setuid(kOther) != 0) ::_exit(1);
          if (!open_cache_folder(test.owner)) ::_exit(2);
        }) == 0);
  CHECK(status_of(cache_folder_path(test.owner)).st_uid == kOther);
  CHECK(in_child([&] {
          if (::setgid(kOther) != 0 || ::setuid(kOther + 1) != 0) ::_exit(1);
          if (!open_cache_folder(test.owner)) ::_exit(2);
        }) == 0);
}

TEST_CASE("a user outside the group cannot create its folder") {
  if (::geteuid() != 0) return;
  FolderCase test;
  std::filesystem::permissions(test.base(), std::filesystem::perms::all);
  test.owner.group = kOther;
  CHECK(in_child([&] {
          if (::setgid(kOther + 1) != 0 || ::setuid(kOther) != 0) ::_exit(1);
          auto folder = open_cache_folder(test.owner);
          if (folder) ::_exit(2);
          if (folder.error().code != Code::kPermissionDenied) ::_exit(3);
        }) == 0);
  CHECK(entries_in(test.base()) == 0);
}

TEST_CASE("a folder of another user is refused") {
  if (::geteuid() != 0) return;
  FolderCase test;
  REQUIRE(::mkdir(test.path.c_str(), 0700) == 0);
  REQUIRE(::chown(test.path.c_str(), kOther, 0) == 0);
  check_refused(test.owner, "belongs to user 54321");
  test.owner.group = 0;
  REQUIRE(::mkdir(cache_folder_path(test.owner).c_str(), 0700) == 0);
  REQUIRE(::chmod(cache_folder_path(test.owner).c_str(), 02770) == 0);
  REQUIRE(::chown(cache_folder_path(test.owner).c_str(), 0, kOther) == 0);
  check_refused(test.owner, "wanted is a folder of group 0 with mode 2770");
}

TEST_CASE("an inaccessible folder of another user is refused with its owner") {
  if (::geteuid() != 0) return;
  FolderCase test;
  test.owner.user = kOther;
  test.path = cache_folder_path(test.owner);
  REQUIRE(::mkdir(test.path.c_str(), 0700) == 0);
  std::filesystem::permissions(test.base(), std::filesystem::perms::all);
  ::setfsuid(kOther);
  ::setfsgid(kOther);
  check_refused(test.owner, "belongs to user 0");
  ::setfsuid(0);
  ::setfsgid(0);
}

TEST_CASE("a folder that others can access is refused") {
  const FolderCase test;
  REQUIRE(::mkdir(test.path.c_str(), 0700) == 0);
  for (const mode_t mode : {0701U, 0710U, 0750U, 0777U, 01700U, 02700U}) {
    CAPTURE(mode);
    REQUIRE(::chmod(test.path.c_str(), mode) == 0);
    check_refused(test.owner, "with mode 0700");
  }
  REQUIRE(::chmod(test.path.c_str(), 0700) == 0);
  CHECK(open_cache_folder(test.owner));
}

TEST_CASE("links and files with the folder's name are refused") {
  const FolderCase test;
  REQUIRE(::mkdir((test.base() + "/elsewhere").c_str(), 0700) == 0);
  REQUIRE(::symlink("elsewhere", test.path.c_str()) == 0);
  check_refused(test.owner, "have it removed");
  REQUIRE(::unlink(test.path.c_str()) == 0);
  REQUIRE(::symlink("nowhere", test.path.c_str()) == 0);
  check_refused(test.owner, "have it removed");
  REQUIRE(::unlink(test.path.c_str()) == 0);
  REQUIRE(::mknod(test.path.c_str(), S_IFREG | 0700, 0) == 0);
  check_refused(test.owner, "have it removed");
}

TEST_CASE("a base that is missing or not a tmpfs is refused") {
  FolderCase test;
  test.owner.base = "/proc";
  auto folder = open_cache_folder(test.owner);
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == Code::kInvalidArgument);
  CHECK_THAT(folder.error().message, ContainsSubstring("/proc: no tmpfs"));
  test.owner.base = test.base() + "/nothing";
  auto missing = open_cache_folder(test.owner);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::kNotFound);
  CHECK_THAT(missing.error().message, ContainsSubstring("/nothing"));
  for (const auto* refused : {&folder, &missing}) {
    CHECK_THAT(refused->error().message,
               ContainsSubstring("set PENSTOCK_CACHE_DIR to a tmpfs"));
  }
}

TEST_CASE("an unwritable base is an error") {
  if (::geteuid() != 0) return;
  FolderCase test;
  test.owner.user = kOther;
  std::filesystem::permissions(test.base(), std::filesystem::perms(0755));
  ::setfsuid(kOther);
  auto folder = open_cache_folder(test.owner);
  ::setfsuid(0);
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == Code::kPermissionDenied);
  CHECK_THAT(folder.error().message,
             ContainsSubstring(test.base()) &&
                 ContainsSubstring("PENSTOCK_CACHE_DIR"));
}

TEST_CASE(
    "processes that create the folder at the same time use the same one") {
  const FolderCase test;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 8; ++i) {
      children.push_back(std::make_unique<Child>([&](const auto&) {
        auto folder = open_cache_folder(test.owner);
        struct stat opened {};
        if (!folder || ::fstat(folder->get(), &opened) != 0) ::_exit(1);
        if (opened.st_ino != status_of(test.path).st_ino) ::_exit(2);
      }));
    }
    for (const auto& child : children) REQUIRE(child->wait() == 0);
    REQUIRE(entries_in(test.base()) == 1);
    REQUIRE(::rmdir(test.path.c_str()) == 0);
  }
}

TEST_CASE("PENSTOCK_CACHE_DIR sets the base") {
  const CacheCase test;
  CHECK(own_cache_folder().base == test.base());
  CHECK(own_cache_folder().user == ::geteuid());
  CHECK_FALSE(own_cache_folder().group);
  CHECK(own_cache_folder(gid_t{5}).group == gid_t{5});
  ::setenv("PENSTOCK_CACHE_DIR", "", 1);
  CHECK(own_cache_folder().base == "/dev/shm");
  ::unsetenv("PENSTOCK_CACHE_DIR");
  CHECK(own_cache_folder().base == "/dev/shm");
}

TEST_CASE("a group is given by name or number") {
  CHECK(cache_group("root").value_or(1) == 0);
  CHECK(cache_group("54321").value_or(0) == 54321);
  CHECK(cache_group("4294967294").value_or(0) == 4294967294);
  for (const char* group : {"", "no such", "-1", "4294967295", "4294967296"}) {
    auto refused = cache_group(group);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::kNotFound);
    CHECK_THAT(refused.error().message,
               ContainsSubstring("there is no such group"));
  }
}

TEST_CASE("the error for an obstacle names it and the remedy") {
  CHECK_THAT(cache_file_error(ELOOP, "/x.cache").message,
             ContainsSubstring("/x.cache: is a link, not a cache's file; "
                               "remove it, or use another name"));
  CHECK_THAT(cache_file_error(EISDIR, "/x.cache").message,
             ContainsSubstring("is a folder, not"));
  CHECK(cache_file_error(ENOENT, "/x.cache").code == Code::kNotFound);
}

TEST_CASE(
    "a cache's name is 1 to 64 allowed characters and gives its file's name") {
  const std::string longest(64, 'x');
  for (const std::string& name :
       {std::string("a"), std::string("imagenet-1k_v2.0"), longest}) {
    CHECK(cache_file_name(name).value_or("") == name + ".cache");
  }
  for (const std::string& name :
       {std::string(), std::string("."), std::string("../x"),
        std::string("a/b"), std::string("a b"), std::string("ä"),
        std::string("a\0b", 3), longest + "x"}) {
    auto refused = cache_file_name(name);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::kInvalidArgument);
    CHECK_THAT(refused.error().message, ContainsSubstring("allowed: 1 to 64"));
  }
}
