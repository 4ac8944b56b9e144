#include "loader/pipeline/sample_preparer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr int kSide = 16;

// Whether the file's first page is in the page cache.
bool is_cached(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* mapped = ::mmap(nullptr, page, PROT_READ, MAP_SHARED, fd.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  unsigned char resident = 0;
  REQUIRE(::mincore(mapped, page, &resident) == 0);
  ::munmap(mapped, page);
  return (resident & 1) != 0;
}

class Prepared {
 public:
  explicit Prepared(ReadMode mode)
      : preparer_(*dataset_, {mode, kSide}, bucket_) {}

  // Whether the file is cached after reading a sample from `source`.
  bool leaves_cached(SampleSource source) {
    SampleFacts facts;
    const Status prepared = preparer_.prepare(
        0, 1, source, [] { return false; }, out_.data(), facts);
    if (!prepared) INFO(prepared.error().message);
    REQUIRE(prepared);
    CHECK(facts.counted.bytes > 0);
    return is_cached(path_);
  }

  void write_back() {
    const UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(::fsync(fd.get()) == 0);
    REQUIRE(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED) == 0);
  }
  bool is_on_disk() const {
    const UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    return bool(fd) && !is_cached(path_);
  }

 private:
  static std::shared_ptr<const Dataset> dataset_of(const TempFolder& folder) {
    write_jpegs(folder, 1);
    auto dataset = open_folder(folder.path());
    REQUIRE(dataset);
    return *dataset;
  }

  const TempFolder folder_;
  const std::shared_ptr<const Dataset> dataset_ = dataset_of(folder_);
  const std::string path_ = dataset_->name(0);
  TokenBucket bucket_;
  std::vector<float> out_ = std::vector<float>(3 * kSide * kSide);
  SamplePreparer preparer_;
};

}  // namespace

TEST_CASE("each source of a sample uses the page cache as specified") {
  const ReadMode mode = GENERATE(ReadMode::kBuffered, ReadMode::kDirect);
  Prepared it(mode);
  it.write_back();
  if (!it.is_on_disk()) {
    WARN("skipped: /tmp keeps its files in memory");
    return;
  }
  // The usual source fills the page cache, or bypasses it with direct reads.
  CHECK(it.leaves_cached(SampleSource::kUsual) ==
        (mode == ReadMode::kBuffered));
  // A read from memory needs the file in the page cache.
  CHECK(it.leaves_cached(SampleSource::kMemory));
  CHECK(it.leaves_cached(SampleSource::kStorage) ==
        (mode == ReadMode::kBuffered));
}

TEST_CASE("a centred square equals the result of Pillow's filter") {
  // 28 of 32 pixels a side become 14: each output averages the 4 pixels a side
  // around its centre, weighted 1, 3, 3, 1, without pixels outside the square.
  constexpr int kWidth = 40;
  constexpr int kHeight = 32;
  constexpr int kOut = 14;
  const TempFolder folder;
  write_file(folder.path("a.ppm"), ppm_bytes(kWidth, kHeight, 3));
  const auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  TokenBucket bucket;
  SamplePreparer preparer(
      **dataset, {ReadMode::kBuffered, kOut, Augment::kCentre}, bucket);
  std::vector<float> out(size_t{3} * kOut * kOut);
  SampleFacts facts;
  REQUIRE(preparer.prepare(
      0, GENERATE(1u, 2u, 3u), SampleSource::kUsual, [] { return false; },
      out.data(), facts));
  const auto pixels = picture_pixels(kWidth, kHeight, 3);
  constexpr float kMean[] = {0.485f, 0.456f, 0.406f};
  constexpr float kDeviation[] = {0.229f, 0.224f, 0.225f};
  const auto expected = [&](int channel, int y, int x) {
    double sum = 0;
    double weights = 0;
    for (int dy = -1; dy <= 2; ++dy) {
      for (int dx = -1; dx <= 2; ++dx) {
        const int row = 2 * y + dy;
        const int column = 2 * x + dx;
        if (row < 0 || row >= 28 || column < 0 || column >= 28) continue;
        const double weight =
            (dy == 0 || dy == 1 ? 3 : 1) * (dx == 0 || dx == 1 ? 3 : 1);
        const int at = ((row + 2) * kWidth + column + 6) * 3 + channel;
        sum += weight * pixels[size_t(at)];
        weights += weight;
      }
    }
    return sum / weights;
  };
  for (int i = 0; i < 3 * kOut * kOut; ++i) {
    const int channel = i / (kOut * kOut);
    const int y = i / kOut % kOut;
    CAPTURE(channel, y, i % kOut);
    const double byte =
        (double(out[size_t(i)]) * kDeviation[channel] + kMean[channel]) * 255;
    REQUIRE(byte == Approx(expected(channel, y, i % kOut)).margin(9 / 64.0));
  }
}

TEST_CASE("a sample's bits depend only on its file and the seed") {
  const TempFolder folder;
  write_jpegs(folder, 3);
  const auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  TokenBucket bucket;
  SamplePreparer fresh(**dataset, {ReadMode::kBuffered, kSide}, bucket);
  SamplePreparer used(**dataset, {ReadMode::kBuffered, kSide}, bucket);
  const auto prepared = [](SamplePreparer& preparer, uint64_t index,
                           uint64_t seed) {
    std::vector<float> out(3 * kSide * kSide);
    SampleFacts facts;
    REQUIRE(preparer.prepare(
        index, seed, SampleSource::kUsual, [] { return false; }, out.data(),
        facts));
    return out;
  };
  for (uint64_t seed = 0; seed < 50; ++seed) prepared(used, seed % 3, seed);
  const auto first = prepared(fresh, 1, 77);
  CHECK(first == prepared(used, 1, 77));
  CHECK(first != prepared(used, 2, 77));
  CHECK(first != prepared(used, 1, 78));
}
