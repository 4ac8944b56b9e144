// with_cache() over several nodes: the reads from storage.
#include "penstock/loader/pipeline.h"
#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader_peer/peer_case.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr int kPictures = 60;

struct Cluster {
  TempFolder folder;
  std::vector<PeerNode> nodes;
  std::vector<std::shared_ptr<const Dataset>> data;
  std::shared_ptr<const Dataset> stored;

  explicit Cluster(size_t count) {
    write_jpegs(folder, kPictures);
    auto opened = open_folder(folder.path());
    REQUIRE(opened);
    stored = *opened;
    for (size_t i = 0; i < count; ++i) nodes.emplace_back(uint64_t(kPictures));
    for (size_t i = 0; i < count; ++i) {
      nodes[i].join(options_of(count, i));
      data.push_back(with_cache(stored, nodes[i].cache, nodes[i].group));
    }
    for (auto& node : nodes) {
      REQUIRE(wait_until([&] { return node.group->server().port() != 0; }));
    }
  }
  uint64_t cached() const {
    uint64_t all = 0;
    for (const auto& node : nodes) all += node.cache->ready_samples();
    return all;
  }
};

// Loads an epoch of one of the job's ranks.
LoaderCounters load(const std::shared_ptr<const Dataset>& dataset,
                    uint64_t ranks, uint64_t rank, uint64_t seed) {
  PipelineOptions options;
  options.batch_samples = 4;
  options.crop_side = 16;
  options.seed = seed;
  options.ranks = ranks;
  options.rank = rank;
  options.total_samples = kPictures / ranks;
  options.threads = options.threads_max = 2;
  auto pipeline = Pipeline::create(dataset, options, {});
  REQUIRE(pipeline);
  CHECK(wait_until([&] {
    auto batch = (*pipeline)->next(20000000);
    REQUIRE(batch);
    if (*batch) (*pipeline)->release(**batch);
    return (*pipeline)->finished();
  }));
  return (*pipeline)->counters();
}

}  // namespace

TEST_CASE("after the first epoch no byte is read from storage") {
  for (const size_t count : {2U, 4U}) {
    Cluster cluster(count);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      bytes += load(cluster.data[i], count, i, 1).bytes;
    }
    CHECK(bytes > 0);
    REQUIRE(wait_until([&] { return cluster.cached() == kPictures; }));
    // Each node loads other samples than in the first epoch.
    for (const uint64_t seed : {2U, 3U}) {
      uint64_t cached_bytes = 0, peer = 0;
      for (size_t i = 0; i < count; ++i) {
        const LoaderCounters now = load(cluster.data[i], count, i, seed);
        CHECK(now.bytes == 0);
        CHECK(now.prepared == kPictures / count);
        CHECK(now.cached == now.prepared);
        CHECK(now.peer <= now.cached);
        CHECK(now.peer_bytes <= now.cached_bytes);
        peer += now.peer;
        cached_bytes += now.cached_bytes;
      }
      CHECK(cached_bytes == bytes);
      CHECK(peer > 0);
    }
    uint64_t hits = 0, misses = 0, peer = 0;
    for (const auto& node : cluster.nodes) {
      const SampleCacheCounters counters = node.cache->counters();
      hits += counters.hits;
      misses += counters.misses;
      peer += counters.peer;
      CHECK((counters.peer_bytes > 0) == (counters.peer > 0));
    }
    CHECK(misses == kPictures);
    CHECK(hits + peer == uint64_t{2} * kPictures);
  }
}

TEST_CASE("samples from peers equal those from storage") {
  Cluster cluster(2);
  const auto reader = cluster.data[0]->new_reader(ReadMode::kBuffered);
  const auto direct = cluster.stored->new_reader(ReadMode::kBuffered);
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i < kPictures; ++i) {
      auto size = reader->open(i, SampleSource::kUsual);
      REQUIRE(size);
      auto sample = reader->read();
      REQUIRE(sample);
      CHECK(sample->size() == *size);
      REQUIRE(direct->open(i, SampleSource::kUsual));
      auto expected = direct->read();
      REQUIRE(expected);
      CHECK(std::equal(sample->begin(), sample->end(), expected->begin(),
                       expected->end()));
      if (round == 0) continue;
      CHECK(reader->is_cached());
      CHECK(reader->is_from_peer() != cluster.nodes[0].group->is_own(i));
    }
    REQUIRE(wait_until([&] { return cluster.cached() == kPictures; }));
  }
}

TEST_CASE("labels inside samples are sent with them") {
  Cluster cluster(2);
  std::vector<uint8_t> records;
  for (uint8_t i = 0; i < kPictures; ++i) {
    records.insert(records.end(), {uint8_t(i + 100), i, i});
  }
  write_file(cluster.folder.path("records.bin"), records);
  auto stored = open_records(cluster.folder.path("records.bin"),
                             {.record_bytes = 3, .label_bytes = 1});
  REQUIRE(stored);
  const auto data =
      with_cache(*stored, cluster.nodes[0].cache, cluster.nodes[0].group);
  const auto reader = data->new_reader(ReadMode::kBuffered);
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i < kPictures; ++i) {
      REQUIRE(reader->open(i, SampleSource::kUsual));
      auto sample = reader->read();
      REQUIRE(sample);
      CHECK(sample->size() == 2);
      CHECK(reader->label() == int64_t(i + 100));
    }
    REQUIRE(wait_until([&] { return cluster.cached() == kPictures; }));
  }
  CHECK(cluster.nodes[0].cache->counters().peer > 0);
}

TEST_CASE("reads from storage or memory neither use nor fill peers' caches") {
  Cluster cluster(2);
  const uint64_t index = sample_of(*cluster.nodes[0].group, false);
  const auto reader = cluster.data[0]->new_reader(ReadMode::kBuffered);
  for (const auto source : {SampleSource::kStorage, SampleSource::kMemory}) {
    REQUIRE(reader->open(index, source));
    CHECK_FALSE(reader->is_cached());
    REQUIRE(reader->read());
  }
  CHECK(cluster.nodes[0].group->counters().asked == 0);
  CHECK(cluster.nodes[0].group->counters().given == 0);
}

TEST_CASE("an ended node costs little time, and storage serves its samples") {
  Cluster cluster(2);
  (void)load(cluster.data[0], 1, 0, 1);
  REQUIRE(wait_until([&] { return cluster.cached() == kPictures; }));
  cluster.data[1].reset();
  cluster.nodes[1].group.reset();
  LoaderCounters now;
  CHECK(seconds_of([&] { now = load(cluster.data[0], 1, 0, 2); }) < 3);
  CHECK(now.prepared == kPictures);
  CHECK(now.peer == 0);
  CHECK(now.bytes > 0);
  // The ended node's samples are not cached here.
  CHECK(cluster.nodes[0].cache->ready_samples() == now.cached);
}
