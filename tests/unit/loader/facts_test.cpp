#include "penstock/loader/facts.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("facts are one line") {
  DatasetFacts facts;
  facts.samples = 1;
  CHECK(facts.text() == "1 sample, no labels");
  CHECK_FALSE(facts.is_doubtful());
  facts.samples = 4;
  facts.labelled = 4;
  facts.classes = 2;
  facts.of(Omission::kEnding).add("a.txt");
  facts.of(Omission::kHidden).add(".x");
  CHECK(facts.text() ==
        "4 samples, 4 labelled, 2 classes; left out: 1 name with another "
        "ending (a.txt), 1 hidden name (.x)");
  CHECK_FALSE(facts.is_doubtful());
}

TEST_CASE("facts that may surprise are doubtful") {
  DatasetFacts facts;
  facts.samples = facts.labelled = 4;
  SECTION("samples without a label beside others") { facts.labelled = 3; }
  SECTION("samples that are there twice") { facts.duplicates = 1; }
  SECTION("classes without a picture") { facts.empty_classes.add("a"); }
  SECTION("links") { facts.of(Omission::kLink).add("a"); }
  SECTION("members without a picture") {
    facts.of(Omission::kPartner).add("a");
  }
  CHECK(facts.is_doubtful());
}

TEST_CASE("three names are told, and how many there are") {
  LeftOutNames names, more;
  for (const char* name : {"a", "b"}) names.add(name);
  for (const char* name : {"c", "d", "e"}) more.add(name);
  CHECK(names.text() == "a, b");
  names.add(more);
  CHECK(names.count == 5);
  CHECK(names.text() == "a, b, c, ...");
}

TEST_CASE("a name cannot control the terminal") {
  LeftOutNames names;
  names.add("a\033[2J\nb");
  names.add("\u5b66");
  CHECK(names.text() == "a?[2J?b, \u5b66");
}

}  // namespace
}  // namespace penstock
