#include "link/term_file.h"

#include <fcntl.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

struct Folder {
  Folder() : path(::mkdtemp(name)), fd(::open(path.c_str(), O_RDONLY)) {}
  ~Folder() { std::filesystem::remove_all(path); }

  char name[32] = "/tmp/penstock-term-XXXXXX";
  std::string path;
  UniqueFd fd;
};

}  // namespace

TEST_CASE("the last saved term is loaded") {
  const Folder folder;
  CHECK(*load_term(folder.fd.get()) == 0);
  REQUIRE(save_term(folder.fd.get(), 33).ok());
  REQUIRE(save_term(folder.fd.get(), 49).ok());
  CHECK(*load_term(folder.fd.get()) == 49);
}

TEST_CASE("a file without a valid term is refused with the remedy") {
  const Folder folder;
  for (const char* text : {"", "x", "-1", "0", "9007199254740993",
                           "99999999999999999999", "7\n8"}) {
    std::ofstream(folder.path + "/term") << text;
    const auto term = load_term(folder.fd.get());
    REQUIRE_FALSE(term.ok());
    CHECK(term.error().code == Code::kInvalidArgument);
    CHECK_THAT(term.error().message,
               Catch::Matchers::ContainsSubstring("--reset-term"));
  }
}

TEST_CASE("a reset forgets the term, or does nothing") {
  const Folder folder;
  CHECK(reset_term(folder.fd.get()).ok());
  REQUIRE(save_term(folder.fd.get(), 33).ok());
  CHECK(reset_term(folder.fd.get()).ok());
  CHECK(*load_term(folder.fd.get()) == 0);
}

TEST_CASE("a failed write of a term keeps the old one") {
  const Folder folder;
  REQUIRE(save_term(folder.fd.get(), 33).ok());
  std::filesystem::create_directory(folder.path + "/term.new");
  CHECK_FALSE(save_term(folder.fd.get(), 49).ok());
  CHECK(*load_term(folder.fd.get()) == 33);
}
