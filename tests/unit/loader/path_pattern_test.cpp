#include "loader/data/path_pattern.h"

#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

namespace penstock {
namespace {

using test::TempFolder;
using test::write_file;
using Paths = std::vector<std::string>;

TEST_CASE("braces stand for numbers and words") {
  struct Row {
    const char* pattern;
    Paths paths;
  };
  for (const Row& row : {
           Row{"a.tar", {"a.tar"}},
           Row{"a-{08..11}.tar",
               {"a-08.tar", "a-09.tar", "a-10.tar", "a-11.tar"}},
           Row{"{2..0}", {"2", "1", "0"}},
           Row{"{7..7}", {"7"}},
           Row{"{a,b}/{0..1}", {"a/0", "a/1", "b/0", "b/1"}},
           Row{"x{,.old}", {"x", "x.old"}},
           Row{"{a}", {"{a}"}},
           Row{"{..3}", {"{..3}"}},
           Row{"{a..b}{1,2}", {"{a..b}1", "{a..b}2"}},
           Row{"}{", {"}{"}},
       }) {
    INFO(row.pattern);
    const auto paths = expand_braces(row.pattern);
    REQUIRE(paths);
    CHECK(*paths == row.paths);
  }
}

TEST_CASE("too many paths are an error") {
  for (const char* pattern :
       {"{0..1000000}", "{0..4294967295}", "{0..9999}{0..9999}"}) {
    INFO(pattern);
    const auto paths = expand_braces(pattern);
    REQUIRE_FALSE(paths);
    CHECK(paths.error().code == Code::kInvalidArgument);
  }
}

TEST_CASE("patterns are files in order, and files with such names themselves") {
  const TempFolder folder;
  for (const char* name : {"b.tar", "a.tar", "c.txt", "{0..1}.tar"}) {
    write_file(folder.path(name), {1});
  }
  CHECK(*expand_paths({folder.path("*.tar")}) ==
        Paths{folder.path("a.tar"), folder.path("b.tar"),
              folder.path("{0..1}.tar")});
  CHECK(*expand_paths({folder.path("{0..1}.tar")}) ==
        Paths{folder.path("{0..1}.tar")});
  CHECK(*expand_paths({folder.path("{a,b}.*")}) ==
        Paths{folder.path("a.tar"), folder.path("b.tar")});
  // Its opener says that there is none.
  CHECK(*expand_paths({folder.path("d*"), "e"}) ==
        Paths{folder.path("d*"), "e"});
}

}  // namespace
}  // namespace penstock
