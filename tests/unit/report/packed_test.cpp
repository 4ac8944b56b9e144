#include "report/packed.h"

#include <zlib.h>

#include "report/json.h"
#include "samples.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("a packed report comes back whole") {
  for (const JobReport& report :
       {samples::input_bound(), samples::unknown(), samples::wasteful()}) {
    const auto packed = pack_report(report);
    REQUIRE(packed);
    CHECK(packed->size() < 4000);
    const auto back = unpack_report(*packed);
    REQUIRE(back);
    CHECK(to_json(*back) == to_json(report));
  }
}

TEST_CASE("a long timeline is made coarser, and covers the same time") {
  JobReport report = samples::input_bound();
  const TimelinePoint point = report.timeline[1];
  report.timeline.clear();
  for (int i = 0; i < 3600; ++i) {
    TimelinePoint next = point;
    next.begin_unix_s += i;
    next.duration_s = 1;
    next.rate = 500 + (i * 7919) % 101;
    report.timeline.push_back(next);
  }
  const auto packed = pack_report(report);
  REQUIRE(packed);
  CHECK(packed->size() < 20'000);
  const auto back = unpack_report(*packed);
  REQUIRE(back);
  CHECK(back->timeline.size() <= kPackedPoints);
  CHECK(back->timeline.size() > kPackedPoints / 2);
  CHECK(back->timeline.front().begin_unix_s == Approx(point.begin_unix_s));
}

TEST_CASE("a damaged packed report is an error") {
  const std::string packed = *pack_report(samples::input_bound());
  for (size_t size = 0; size < packed.size(); size += 97) {
    CHECK_FALSE(unpack_report(std::string_view(packed).substr(0, size)));
  }
  CHECK_FALSE(unpack_report(packed + "x"));
  for (size_t i = 0; i < packed.size(); i += 31) {
    std::string other = packed;
    other[i] = char(other[i] ^ 0x10);
    (void)unpack_report(other);  // an error, or another valid report
  }
  CHECK(unpack_report(std::string(kMaxPackedBytes + 1, 'x')).error().code ==
        Code::kLimit);
}

TEST_CASE("a packed text that becomes too large is an error") {
  const std::string blanks(kMaxReportJsonBytes + 1, ' ');
  uLongf size = ::compressBound(uLong(blanks.size()));
  std::string bomb(size, '\0');
  REQUIRE(::compress(reinterpret_cast<Bytef*>(bomb.data()), &size,
                     reinterpret_cast<const Bytef*>(blanks.data()),
                     uLong(blanks.size())) == Z_OK);
  bomb.resize(size);
  REQUIRE(bomb.size() < kMaxPackedBytes);
  CHECK(unpack_report(bomb).error().code == Code::kLimit);
}

}  // namespace
}  // namespace penstock
