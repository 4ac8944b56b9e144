#include "loader/lmdb/mpi/lmdb_reader.h"

#include <vector>

#include "loader/lmdb/mpi/reader_setup.h"

namespace penstock::lmdb {
namespace {

class RankReader : public LmdbReader {
 public:
  RankReader(const ReaderOptions& options, PipelineLink link) {
    parts_.options = options;
    parts_.link = std::move(link);
  }
  ~RankReader() override {
    parts_.threads.clear();
    if (parts_.share) close();
  }

  Status set_up(MPI_Comm world, const std::string& path) {
    Status ok = set_up_world(world, parts_);
    if (ok) ok = set_up_file(path, parts_);
    if (ok) ok = set_up_reading(parts_);
    if (ok) return ok;
    // A rank that did not come would not take part in freeing either.
    if (ok.error().code == Code::kUnavailable) abandon();
    return ok;
  }

  // An error is permanent: otherwise chunks that are already full would still
  // be handed out.
  Result<std::optional<RecordBatch>> next() override {
    if (!end_) return end_.error();
    Result<std::optional<RecordBatch>> batch = take_next();
    if (!batch) end_ = batch.error();
    return batch;
  }

  Status release() override {
    if (end_) end_ = check(give_back());
    return end_;
  }

  const ReaderFacts& facts() const override { return parts_.facts; }
  ReadCounts counts() const override {
    ReadCounts sum;
    for (const auto& thread : parts_.threads) sum += thread->counts();
    return sum;
  }

 private:
  Result<std::optional<RecordBatch>> take_next() {
    const bool was_mapped = give_back();
    if (is_over()) {
      if (Status ok = check(was_mapped); !ok) return std::move(ok).error();
      return std::optional<RecordBatch>();
    }
    const auto looking = [this] { return parts_.share->look(); };
    const uint64_t chunk = plan().chunk_of(epoch_, step_);
    if (Status full = ring().wait_full(chunk, looking); !full) {
      return std::move(full).error();
    }
    // Checked again: the chunk's reader may have checked long ago.
    const bool is_mapped = ring().is_mapped(chunk);
    if (Status ok = check(was_mapped || is_mapped); !ok) {
      return std::move(ok).error();
    }
    list_views(chunk, is_mapped);
    if (Status ok = is_mapped ? wait_for_views() : Done{}; !ok) {
      return std::move(ok).error();
    }
    is_held_ = true;
    return std::optional<RecordBatch>({epoch_, step_, views_});
  }

  const BatchPlan& plan() const { return parts_.plan.batches; }
  NodeRing& ring() { return parts_.share->ring(); }
  bool is_over() const {
    const uint64_t epochs = parts_.options.epochs;
    return (epochs > 0 && epoch_ >= epochs) || plan().records == 0;
  }

  // True: the batch was the last of a mapped chunk.
  bool give_back() {
    if (!is_held_) return false;
    is_held_ = false;
    const uint64_t chunk = plan().chunk_of(epoch_, step_);
    const bool was_mapped = ring().is_mapped(chunk);
    if (++step_ == plan().steps()) {
      step_ = 0;
      ++epoch_;
    }
    if (plan().chunk_of(epoch_, step_) == chunk) return false;
    ring().done(chunk);
    return was_mapped;
  }

  void list_views(uint64_t chunk, bool is_mapped) {
    const uint32_t me = parts_.world->rank();
    const uint8_t* const base =
        is_mapped ? parts_.map->data() : ring().data(chunk).data();
    const auto entries = ring().entries(chunk).subspan(
        plan().place_in_chunk(step_, parts_.plan.node, me),
        plan().of_ranks(step_, {me, 1}).count());
    views_.clear();
    for (const SlotEntry& entry : entries) {
      views_.push_back({base + entry.place, entry.bytes, entry.index});
    }
  }

  // Waits explicitly: in a page fault a storage error is a SIGBUS.
  Status wait_for_views() {
    if (parts_.fits_cache) waited_.resize(plan().records);
    touched_.clear();
    for (const RecordView& view : views_) {
      // If the page cache can hold the file, one wait per record is enough.
      if (parts_.fits_cache && waited_[view.index]) continue;
      touched_.push_back(
          {static_cast<uint64_t>(view.data - parts_.map->data()), view.bytes});
    }
    // Without MADV_POPULATE_READ (Linux < 5.14) page faults wait instead.
    Result<bool> is_there = parts_.map->wait_for(touched_);
    if (!is_there) {
      return fail(std::move(is_there).error().wrap(parts_.file.path));
    }
    if (!parts_.fits_cache) return Done{};
    for (const RecordView& view : views_) waited_[view.index] = true;
    return Done{};
  }

  // Reports `mine`, and returns the error that ends the run: `mine`, or an
  // earlier one. An earlier one may not be published completely yet.
  Error fail(Error mine) {
    parts_.share->fail(mine);
    Status first = ring().state();
    return first ? std::move(mine) : std::move(first).error();
  }

  // A writer may reuse handed-out pages two transactions later. This can only
  // be detected afterwards, so it is checked after their use too.
  Status check(bool is_mapped) {
    if (!is_mapped) return Done{};
    const MappedFile& map = *parts_.map;
    if (!map.is_whole()) {
      return fail(cut_short(map.bytes()).wrap(parts_.file.path));
    }
    if (is_unchanged({map.data(), map.bytes()}, parts_.snapshot)) return Done{};
    Status intact = check_intact(parts_.file.fd.get(), parts_.snapshot);
    if (intact) return intact;
    return fail(std::move(intact).error().wrap(parts_.file.path));
  }

  void close() {
    NodeShare& share = *parts_.share;
    if (!is_over()) share.close();
    const Status all = share.is_failed()
                           ? share.ring().state()
                           : parts_.world->node().barrier([&]() -> Status {
                               if (share.is_failed())
                                 return share.ring().state();
                               return share.find_dead();
                             });
    if (!all) abandon();
  }

  void abandon() {
    parts_.share.reset();
    if (parts_.window) parts_.window->abandon();
    parts_.readers.abandon();
    if (parts_.world) parts_.world->abandon();
  }

  ReaderParts parts_;
  uint64_t epoch_ = 0;  // of the next batch
  uint64_t step_ = 0;
  bool is_held_ = false;  // the caller has the batch of that step
  Status end_ = Done{};   // the error that ended the run
  std::vector<RecordView> views_;
  std::vector<Stretch> touched_;  // their ranges in the map
  std::vector<bool> waited_;      // for each record
};

}  // namespace

Result<std::unique_ptr<LmdbReader>> LmdbReader::create(
    MPI_Comm world, const std::string& path, const ReaderOptions& options,
    PipelineLink link) {
  auto reader = std::make_unique<RankReader>(options, std::move(link));
  if (Status ok = reader->set_up(world, path); !ok) {
    return std::move(ok).error();
  }
  return std::unique_ptr<LmdbReader>(std::move(reader));
}

}  // namespace penstock::lmdb
