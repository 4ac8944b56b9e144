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
