#include "loader/lmdb/record_key.h"

#include "tests/unit/catch.h"

using namespace penstock::lmdb;

TEST_CASE("keys have eight digits and the label") {
  CHECK(record_key(0, kUnlabelled) == "00000000");
  CHECK(record_key(42, 0) == "00000042/0");
  CHECK(record_key(kMostNumbered - 1, INT32_MAX) == "99999999/2147483647");
  // Keys are ordered by number, whatever the labels.
  CHECK(record_key(8, 900) < record_key(9, 1));
  CHECK(record_key(8, 900) < record_key(9, kUnlabelled));
}

TEST_CASE("a label is read only from keys of this form") {
  for (const int32_t label : {kUnlabelled, 0, 7, 999, INT32_MAX}) {
    CHECK(label_in_key(record_key(123, label), 123) == label);
  }
  for (const char* key :
       {"", "00000001", "00000001/", "0000001/5", "000000001/5", "00000001/05",
        "00000001/-1", "00000001/+1", "00000001/5 ", "00000001/2147483648",
        "00000001/99999999999", "00000001_5", "0000000a/5", "00000001/cat",
        "00000001/5/6"}) {
    CAPTURE(key);
    CHECK(label_in_key(key, 1) == kUnlabelled);
  }
}

TEST_CASE("a key that is not the record's number has no label") {
  CHECK(label_in_key("00000017/5", 17) == 5);
  for (const uint64_t number : {0, 16, 18}) {
    CHECK(label_in_key("00000017/5", number) == kUnlabelled);
  }
}
