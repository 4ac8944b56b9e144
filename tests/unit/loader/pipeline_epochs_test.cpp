// Epochs, ranks, states, orders and broken samples of
// penstock/loader/pipeline.h.
#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "penstock/loader/pipeline.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kSecond = 1000000000;

// Records of a label and a tensor of one byte each; the tensor is the record's
// number.
class Numbers {
 public:
  explicit Numbers(uint8_t count) {
    std::vector<uint8_t> bytes;
    for (uint8_t i = 0; i < count; ++i) {
      bytes.push_back(static_cast<uint8_t>(200 - i));
      bytes.push_back(i);
    }
    write_file(folder_.path("numbers"), bytes);
    auto opened = open_records(folder_.path("numbers"), {2, 1, 0});
    REQUIRE(opened);
    dataset_ = *opened;
  }
  std::unique_ptr<Pipeline> load(const PipelineOptions& options) const {
    auto pipeline = Pipeline::create(dataset_, options, {});
    if (!pipeline) INFO(pipeline.error().message);
    REQUIRE(pipeline);
    return *std::move(pipeline);
  }

 private:
  const TempFolder folder_;
  std::shared_ptr<const Dataset> dataset_;
};

// The next batch's numbers; empty at the end. Checks its labels and indices.
std::vector<int> take(Pipeline& pipeline, bool* ends_epoch = nullptr) {
  while (!pipeline.finished()) {
    auto batch = pipeline.next(kSecond);
    REQUIRE(batch);
    if (!*batch) continue;
    REQUIRE((*batch)->sample_floats == 1);
    std::vector<int> numbers;
    for (size_t i = 0; i < (*batch)->size; ++i) {
      const int number = int((*batch)->data[i]);
      numbers.push_back(number);
      REQUIRE((*batch)->indices[i] == uint64_t(number));
      REQUIRE((*batch)->labels[i] == 200 - number);
    }
    if (ends_epoch != nullptr) *ends_epoch = (*batch)->ends_epoch;
    pipeline.release(**batch);
    return numbers;
  }
  return {};
}

std::vector<std::vector<int>> take_all(Pipeline& pipeline) {
  std::vector<std::vector<int>> batches;
  for (;;) {
    batches.push_back(take(pipeline));
    if (!batches.back().empty()) continue;
    batches.pop_back();
    return batches;
  }
}

PipelineOptions options_of(uint64_t epochs, uint64_t count) {
  PipelineOptions options;
  options.batch_samples = 4;
  options.seed = 5;
  options.total_samples = epochs * count;
  options.threads = options.threads_max = 2;
  return options;
}

}  // namespace

TEST_CASE("batches end with the epoch, unless spans_epochs is set") {
  const Numbers numbers(10);
  PipelineOptions options = options_of(2, 10);
  auto pipeline = numbers.load(options);
  CHECK(pipeline->samples_per_epoch() == 10);
  std::vector<size_t> sizes;
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::set<int> seen;
    bool ends_epoch = false;
    while (!ends_epoch) {
      const auto batch = take(*pipeline, &ends_epoch);
      sizes.push_back(batch.size());
      seen.insert(batch.begin(), batch.end());
    }
    CHECK(seen.size() == 10);
  }
  CHECK(sizes == std::vector<size_t>{4, 4, 2, 4, 4, 2});
  CHECK(pipeline->finished());
  options.spans_epochs = true;
  pipeline = numbers.load(options);
  sizes.clear();
  for (const auto& batch : take_all(*pipeline)) sizes.push_back(batch.size());
  CHECK(sizes == std::vector<size_t>{4, 4, 4, 4, 4});
}

TEST_CASE("without shuffling, samples come in the dataset's order") {
  const Numbers numbers(6);
  PipelineOptions options = options_of(1, 6);
  options.shuffle = false;
  CHECK(take_all(*numbers.load(options)) ==
        std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5}});
}

TEST_CASE("ranks divide an epoch in turn") {
  const Numbers numbers(10);
  PipelineOptions options = options_of(1, 10);
  std::vector<int> alone;
  for (const auto& batch : take_all(*numbers.load(options))) {
    alone.insert(alone.end(), batch.begin(), batch.end());
  }
  options.ranks = 3;
  options.total_samples = 4;
  for (options.rank = 0; options.rank < 3; ++options.rank) {
    std::vector<int> expected;
    for (size_t n = 0; n < 4; ++n) {
      expected.push_back(alone[(3 * n + options.rank) % 10]);
    }
    CHECK(take(*numbers.load(options)) == expected);
  }
  options.rank = 0;
  options.tail = EpochTail::kDrop;
  CHECK(numbers.load(options)->samples_per_epoch() == 3);
}

TEST_CASE("a stream resumes at its saved state, in any epoch") {
  const Numbers numbers(11);
  const bool spans_epochs = GENERATE(false, true);
  PipelineOptions options = options_of(3, 11);
  options.spans_epochs = spans_epochs;
  const auto whole = take_all(*numbers.load(options));
  for (size_t behind = 0; behind < whole.size(); ++behind) {
    CAPTURE(behind);
    auto first = numbers.load(options);
    uint64_t samples = 0;
    for (size_t i = 0; i < behind; ++i) samples += take(*first).size();
    PipelineOptions rest = options;
    rest.from = first->state();
    CHECK(rest.from->epoch == samples / 11);
    CHECK(rest.from->position == samples % 11);
    rest.total_samples = options.total_samples - samples;
    CHECK(take_all(*numbers.load(rest)) ==
          std::vector<std::vector<int>>(whole.begin() + long(behind),
                                        whole.end()));
  }
}

TEST_CASE("without order no sample is lost or repeated") {
  const Numbers numbers(100);
  PipelineOptions options = options_of(3, 100);
  options.is_ordered = false;
  options.threads = options.threads_max = 4;
  auto pipeline = numbers.load(options);
  std::vector<int> count(100);
  for (const auto& batch : take_all(*pipeline)) {
    for (const int number : batch) ++count[size_t(number)];
  }
  CHECK(count == std::vector<int>(100, 3));
  CHECK(pipeline->state().epoch == 3);
}

TEST_CASE("several batches can be in use at once") {
  const Numbers numbers(12);
  auto pipeline = numbers.load(options_of(1, 12));
  std::vector<Batch> held;
  while (held.size() < 3) {
    auto batch = pipeline->next(kSecond);
    REQUIRE(batch);
    if (*batch) held.push_back(**batch);
  }
  std::set<uint64_t> seen;
  for (const Batch& batch : held) {
    seen.insert(batch.indices, batch.indices + batch.size);
  }
  CHECK(seen.size() == 12);
  for (const Batch& batch : held) pipeline->release(batch);
}

TEST_CASE("a broken sample ends the stream if it is fatal") {
  const TempFolder folder;
  write_jpegs(folder, 7);
  write_file(folder.path("7.jpg"), {1, 2, 3});
  auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  PipelineOptions options = options_of(1, 8);
  options.batch_samples = 2;
  options.crop_side = 8;
  options.shuffle = false;
  options.broken = BrokenSamples::kFatal;
  auto pipeline = Pipeline::create(*dataset, options, {});
  REQUIRE(pipeline);
  size_t good = 0;
  for (;;) {
    auto batch = (*pipeline)->next(kSecond);
    if (!batch) {
      CHECK_THAT(batch.error().message,
                 ContainsSubstring(folder.path("7.jpg") + ": not a picture"));
      break;
    }
    if (!*batch) continue;
    good += (*batch)->size;
    (*pipeline)->release(**batch);
  }
  CHECK(good == 6);
  CHECK_FALSE((*pipeline)->next(kSecond));
  CHECK((*pipeline)->counters().broken == 1);
}

TEST_CASE("an epoch's end is reported even if its last batch is broken") {
  const TempFolder folder;
  write_jpegs(folder, 4);
  write_file(folder.path("4.jpg"), {1, 2, 3});
  auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  PipelineOptions options = options_of(2, 5);
  options.crop_side = 8;
  options.shuffle = false;
  auto pipeline = Pipeline::create(*dataset, options, {});
  REQUIRE(pipeline);
  std::vector<std::pair<size_t, bool>> batches;
  while (!(*pipeline)->finished()) {
    auto batch = (*pipeline)->next(kSecond);
    REQUIRE(batch);
    if (!*batch) continue;
    batches.emplace_back((*batch)->size, (*batch)->ends_epoch);
    (*pipeline)->release(**batch);
  }
  CHECK(batches == std::vector<std::pair<size_t, bool>>{
                       {4, false}, {0, true}, {4, false}, {0, true}});
}

TEST_CASE("broken samples change neither batch counts nor states of ranks") {
  const TempFolder folder;
  write_jpegs(folder, 8);
  for (const char* name : {"1.jpg", "3.jpg", "5.jpg", "7.jpg"}) {
    write_file(folder.path(name), {1, 2, 3});
  }
  write_file(folder.path("5.jpg"), jpeg_bytes(80, 60, 5));
  auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  PipelineOptions options = options_of(1, 4);
  options.batch_samples = 1;
  options.crop_side = 8;
  options.shuffle = false;
  options.ranks = 2;
  std::vector<size_t> sizes[2];
  std::vector<uint64_t> positions[2];
  for (options.rank = 0; options.rank < 2; ++options.rank) {
    auto pipeline = Pipeline::create(*dataset, options, {});
    REQUIRE(pipeline);
    while (!(*pipeline)->finished()) {
      auto batch = (*pipeline)->next(kSecond);
      REQUIRE(batch);
      if (!*batch) continue;
      sizes[options.rank].push_back((*batch)->size);
      positions[options.rank].push_back((*pipeline)->state().position);
      (*pipeline)->release(**batch);
    }
  }
  CHECK(sizes[0] == std::vector<size_t>{1, 1, 1, 1});
  CHECK(sizes[1] == std::vector<size_t>{0, 0, 1, 0});
  CHECK(positions[0] == positions[1]);
}

TEST_CASE("a picture too large for the memory bound is a broken sample") {
  const TempFolder folder;
  write_jpegs(folder, 3);
  write_file(folder.path("3.jpg"), jpeg_bytes(1600, 1200, 1));
  write_file(folder.path("4.ppm"), ppm_bytes(700, 700, 1));
  auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  PipelineOptions options = options_of(1, 5);
  options.crop_side = 1000;  // so that the JPEG is decoded at full size
  options.batch_samples = 1;
  options.threads = options.threads_max = 1;
  const auto run = [&](uint64_t memory_bytes) {
    options.memory_bytes = memory_bytes;
    std::vector<std::string> why;
    PipelineLink link;
    link.broken = [&](const std::string& text) { why.push_back(text); };
    auto pipeline = Pipeline::create(*dataset, options, link);
    REQUIRE(pipeline);
    while (!(*pipeline)->finished()) {
      auto batch = (*pipeline)->next(kSecond);
      REQUIRE(batch);
      if (*batch) (*pipeline)->release(**batch);
    }
    pipeline->reset();
    std::sort(why.begin(), why.end());
    return why;
  };
  CHECK(run(100 << 20).empty());
  const auto why = run(27 << 20);
  REQUIRE(why.size() == 2);
  CHECK_THAT(why[0], ContainsSubstring(folder.path("3.jpg")) &&
                         ContainsSubstring("bytes when decoded; the memory"));
  CHECK_THAT(why[1], ContainsSubstring(folder.path("4.ppm")) &&
                         ContainsSubstring("1470015 bytes; the memory bound"));
}

TEST_CASE("an invalid state or rank is refused") {
  const Numbers numbers(3);
  const TempFolder folder;
  write_jpegs(folder, 1);
  auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  PipelineOptions options = options_of(1, 1);
  SECTION("state") { options.from = SamplerState{9, 5, true, 0, 0}; }
  SECTION("rank") { options.rank = 1; }
  auto pipeline = Pipeline::create(*dataset, options, {});
  REQUIRE_FALSE(pipeline);
  CHECK(pipeline.error().code == Code::kInvalidArgument);
  CHECK_THAT(pipeline.error().message, ContainsSubstring("sampler: "));
}
