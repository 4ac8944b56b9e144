#include "loader/data/picture_names.h"

#include "tests/unit/catch.h"

using penstock::is_picture_name;

TEST_CASE("pictures are recognised by their extensions, in any letter case") {
  for (const char* name : {"a.jpg", "a.JPEG", "b/c.Png", "x.y.webp", "1.ppm"}) {
    CAPTURE(name);
    CHECK(is_picture_name(name));
  }
  for (const char* name :
       {"", "jpg", ".jpg", "b/.png", "a.jpg.part", "a.gif", "ajpg"}) {
    CAPTURE(name);
    CHECK_FALSE(is_picture_name(name));
  }
}

TEST_CASE("pictures of other kinds are recognised, so that none is left out") {
  using penstock::is_other_picture_name;
  for (const char* name : {"a.BMP", "b/c.tif", "x.y.gif", "1.pgm"}) {
    CAPTURE(name);
    CHECK(is_other_picture_name(name));
    CHECK_FALSE(is_picture_name(name));
  }
  CHECK_FALSE(is_other_picture_name("a.jpg"));
  CHECK_FALSE(is_other_picture_name(".gif"));
}

TEST_CASE("an ending has a name before it") {
  using penstock::has_ending;
  CHECK(has_ending("a.left.PNG", ".left.png"));
  CHECK_FALSE(has_ending("a/.png", ".png"));
  CHECK_FALSE(has_ending(".png", ".png"));
  CHECK_FALSE(has_ending("apng", ".png"));
}
