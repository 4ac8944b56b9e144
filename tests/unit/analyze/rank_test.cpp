// A session and a rank of Penstock's loader, over a real socket, on real files.
#include <thread>

#include "loader/train/analysed_trainer.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"
#include "tools/analyze/session.h"

using namespace penstock;
using penstock::test::TempFolder;
using penstock::test::write_jpegs;

namespace {

constexpr int kFiles = 12;
constexpr size_t kBatch = 4;

struct Rank {
  TempFolder folder;
  TrainOptions options;
  std::atomic<bool> stop{false};
  Status ended = Done{};
  std::thread thread;

  explicit Rank(const AnalysisAddress& address) {
    write_jpegs(folder, kFiles);
    options.data = {folder.path()};
    options.batch = kBatch;
    options.accelerator_s_per_sample = 0.0005;
    options.threads = 1;
    thread = std::thread([this, address] { ended = run(address); });
  }
  ~Rank() {
    stop = true;
    thread.join();
  }

  Status run(const AnalysisAddress& address) {
    auto dataset = open_dataset(options.data);
    if (!dataset) return std::move(dataset).error();
    const AnalysisHello hello = rank_hello(address.secret, options, **dataset);
    PipelineOptions settings;
    settings.batch_samples = kBatch;
    settings.crop_side = 16;
    settings.spans_epochs = true;
    auto loader = Pipeline::create(*dataset, settings, {});
    if (!loader) return std::move(loader).error();
    auto link = AnalysisLink::connect(address);
    if (!link) return std::move(link).error();
    AnalysedTrainer trainer(options, **loader, **dataset, nullptr, stop,
                            *std::move(link));
    return trainer.run(hello);
  }
};

CommandWatch nobody() {
  return {[] { return std::vector<int>(); }, [] { return Status(Done{}); }};
}

}  // namespace

TEST_CASE("a rank applies the limits of each cell") {
  auto session = Session::listen(true, nobody());
  REQUIRE(session);
  Rank rank((*session)->address());
  REQUIRE((*session)->wait_for_ranks(20));
  const AnalysisHello& hello = (*session)->hellos()[0];
  CHECK(hello.dataset_samples == kFiles);
  CHECK(hello.batch_samples == kBatch);
  CHECK(hello.dataset_bytes.value_or(0) > 0);
  uint32_t number = 0;
  const auto run = [&](AnalysisFeed data, bool train) {
    AnalysisCell cell;
    cell.cell = ++number;
    cell.data = data;
    cell.train = train;
    cell.subset_samples = 2 * kBatch;
    auto visit = (*session)->run(cell, 0.3, 30);
    if (!visit) FAIL(visit.error().message);
    return visit->ranks.at(0);
  };
  const RankVisit replay = run(AnalysisFeed::kReplay, true);
  CHECK(replay.consumed_bytes == 0);
  CHECK(replay.samples_per_s() <= 2000);
  const RankVisit memory = run(AnalysisFeed::kMemory, false);
  CHECK(memory.consumed_bytes > 0);
  CHECK(memory.memory_bytes_per_s.value_or(0) > 0);
  CHECK(memory.samples == Approx(kBatch * double(memory.batches)));
  const RankVisit trained = run(AnalysisFeed::kMemory, true);
  CHECK(trained.samples_per_s() <= 2000);
  const RankVisit cold = run(AnalysisFeed::kCold, false);
  // On disks only: data of file systems in memory cannot be evicted.
  if (!hello.cold.empty() && hello.filesystem == "ext4") {
    CHECK(cold.read_bytes >= 0.5 * cold.consumed_bytes);
    CHECK(memory.read_bytes <= 0.1 * memory.consumed_bytes);
  }
  (void)run(AnalysisFeed::kReplay, true);
  (*session)->end();
  rank.thread.join();
  CHECK(rank.ended);
  rank.thread = std::thread([] {});
}

TEST_CASE("a rank ends with an error after the session is lost") {
  auto session = Session::listen(true, nobody());
  REQUIRE(session);
  Rank rank((*session)->address());
  REQUIRE((*session)->wait_for_ranks(20));
  session->reset();
  rank.thread.join();
  REQUIRE_FALSE(rank.ended);
  CHECK(rank.ended.error().message.find("is lost") != std::string::npos);
  rank.thread = std::thread([] {});
}
