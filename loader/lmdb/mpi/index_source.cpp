#include <algorithm>
#include <cstring>
#include <vector>

#include "common/clock.h"
#include "loader/lmdb/mpi/chunk_source.h"
#include "loader/lmdb/mpi/coalesce.h"
#include "loader/lmdb/mpi/request_sizer.h"
#include "loader/lmdb/page_batch.h"

namespace penstock::lmdb {

ReadCounts& ReadCounts::operator+=(const ReadCounts& other) {
  read_bytes += other.read_bytes;
  requests += other.requests;
  fetch_ns += other.fetch_ns;
  read_chunks += other.read_chunks;
  mapped_chunks += other.mapped_chunks;
  return *this;
}

namespace {

class IndexSource : public ChunkSource {
 public:
  IndexSource(const Database& database, const MappedFile& map,
              const RunPlan& plan, const ReaderOptions& options,
              const IndexReading& reading)
      : database_(database),
        map_(map),
        plan_(plan),
        options_(options),
        reading_(reading) {}

  Result<bool> fill(const StepChunk& chunk, std::span<SlotEntry> entries,
                    const Room& room) override {
    list_records(chunk, entries);
    if (!map_.is_whole()) {
      return cut_short(map_.bytes()).wrap(database_.path());
    }
    Result<bool> is_mapped = is_in_map();
    if (!is_mapped) return std::move(is_mapped).error().wrap(database_.path());
    if (*is_mapped) {
      place_in_map(entries);
    } else if (Status got = fill_room(entries, room); !got) {
      return std::move(got).error();
    }
    if (Status same = database_.check_intact(); !same) {
      return std::move(same).error();
    }
    const bool was_cached = *is_mapped && !is_read_;
    ++(was_cached ? counts_.mapped_chunks : counts_.read_chunks);
    return *is_mapped;
  }

 private:
  static constexpr uint64_t kBlock = CachedBlocks::kBytes;

  void list_records(const StepChunk& chunk, std::span<SlotEntry> entries) {
    spans_.clear();
    for (uint64_t step = chunk.first_step; step < chunk.last_step; ++step) {
      const Positions mine = plan_.batches.of_ranks(step, plan_.node);
      for (uint64_t at = mine.first; at < mine.last; ++at) {
        const uint64_t record = plan_.record_at(chunk.epoch, at);
        const RecordSpan span = database_.index().at(record);
        entries[spans_.size()] = {record, 0, span.bytes};
        spans_.push_back(span);
      }
    }
  }

  void place_in_map(std::span<SlotEntry> entries) const {
    for (size_t i = 0; i < spans_.size(); ++i) {
      entries[i].place = spans_[i].offset;
    }
  }

  Status fill_room(std::span<SlotEntry> entries, const Room& room) {
    Result<std::span<uint8_t>> data = room();
    if (!data) return std::move(data).error();
    Result<bool> is_copied = options_.dio ? false : copy(entries, *data);
    Status got = Done{};
    if (!is_copied) {
      got = std::move(is_copied).error();
    } else if (!*is_copied) {
      got = read(entries, *data);
    }
    if (!got) return std::move(got).error().wrap(database_.path());
    return got;
  }

  Status read(std::span<SlotEntry> entries, std::span<uint8_t> data) {
    const uint64_t request_bytes = options_.coal ? sizer_.next_bytes() : 0;
    const uint32_t align =
        reading_.direct_fd >= 0 ? RingShape::kDataAlignment : 1;
    Result<ReadPlan> plan =
        coalesce(spans_, {request_bytes, options_.coal ? kGapBytes : 0, align,
                          map_.bytes(), data.size()});
    if (!plan) return std::move(plan).error();
    ranges_.clear();
    uint64_t bytes = 0;
    for (const ReadRequest& request : plan->requests) {
      ranges_.push_back(
          {request.offset, data.subspan(request.buffer_offset, request.bytes)});
      bytes += request.bytes;
    }
    if (Status ok = wait_for_bandwidth(bytes); !ok) return ok;
    const uint64_t begin_ns = monotonic_ns();
    Status got = batch_.read(
        reading_.direct_fd >= 0 ? reading_.direct_fd : database_.fd(), ranges_);
    if (!got) return got;
    if (options_.coal) {
      sizer_.observe(request_bytes, bytes, monotonic_ns() - begin_ns);
    }
    for (size_t i = 0; i < spans_.size(); ++i) {
      entries[i].place = plan->places[i];
    }
    counts_.read_bytes += bytes;
    counts_.requests += ranges_.size();
    return Done{};
  }

  // Whether the chunk can be handed out in place. False: it must be read.
  Result<bool> is_in_map() {
    is_read_ = false;
    if (!options_.map_cached) return false;
    if (reading_.cached) {
      if (Status ok = ask_for_missing(); !ok) return std::move(ok).error();
      return map_.wait_for(awaited_);
    }
    if (!map_.is_cached(spans_, !plan_.shuffle)) return false;
    return is_alone() ? wait_for_all() : true;
  }

  // Several ranks each wait for the records that they access; for a single rank
  // this thread waits ahead.
  bool is_alone() const { return plan_.node.count == 1; }

  // Requests readahead of missing blocks. Each block is checked once, as the
  // page cache can hold all. Blocks that the other thread requested are awaited
  // by the ranks.
  Status ask_for_missing() {
    awaited_.clear();
    for (const RecordSpan& span : spans_) {
      const uint64_t end = span.offset + span.bytes;
      for (uint64_t block = span.offset / kBlock; block * kBlock < end;
           ++block) {
        if (block >= reading_.cached->count()) return beyond(span.offset);
        if (reading_.cached->has(block)) continue;
        if (Status ok = ask_for(block); !ok) return ok;
      }
    }
    return Done{};
  }

  Error beyond(uint64_t offset) const {
    return Error{Code::kIo, 0,
                 "cannot read at byte " + std::to_string(offset) +
                     ", beyond the file's end"};
  }

  Status ask_for(uint64_t block) {
    const uint64_t first = block * kBlock;
    const uint64_t bytes = std::min(kBlock, map_.bytes() - first);
    if (!map_.is_cached({first, bytes})) {
      if (Status ok = wait_for_bandwidth(bytes); !ok) return ok;
      map_.ask_for(first, bytes);
      awaited_.push_back({first, bytes});
      is_read_ = true;
      counts_.read_bytes += bytes;
      ++counts_.requests;
    } else if (is_alone()) {
      awaited_.push_back({first, bytes});
    }
    reading_.cached->add(block);
    return Done{};
  }

  Result<bool> wait_for_all() {
    stretches_.clear();
    for (const RecordSpan& span : spans_) {
      stretches_.push_back({span.offset, span.bytes});
    }
    return map_.wait_for(stretches_);
  }

  Status wait_for_missing() const {
    uint64_t bytes = 0;
    for (const RecordSpan& span : spans_) {
      if (!map_.is_cached({span.offset, span.bytes})) bytes += span.bytes;
    }
    return bytes > 0 ? wait_for_bandwidth(bytes) : Done{};
  }

  // False: the chunk must be read.
  Result<bool> copy(std::span<SlotEntry> entries, std::span<uint8_t> data) {
    if (Status ok = wait_for_missing(); !ok) return std::move(ok).error();
    Result<bool> is_there = wait_for_all();
    if (!is_there || !*is_there) return is_there;
    uint64_t used = 0;
    for (size_t i = 0; i < spans_.size(); ++i) {
      const RecordSpan& span = spans_[i];
      std::memcpy(data.data() + used, map_.data() + span.offset, span.bytes);
      entries[i].place = used;
      used += span.bytes;
    }
    counts_.read_bytes += used;
    counts_.requests += spans_.size();
    return true;
  }

  const Database& database_;
  const MappedFile& map_;
  const RunPlan& plan_;
  const ReaderOptions& options_;
  IndexReading reading_;
  RequestSizer sizer_;
  PageBatch batch_;
  std::vector<RecordSpan> spans_;
  std::vector<Stretch> stretches_;
  std::vector<Stretch> awaited_;  // blocks of this chunk
  bool is_read_ = false;          // blocks of this chunk were requested
  std::vector<PageRange> ranges_;
};

}  // namespace

std::unique_ptr<ChunkSource> make_index_source(const Database& database,
                                               const MappedFile& map,
                                               const RunPlan& plan,
                                               const ReaderOptions& options,
                                               const IndexReading& reading) {
  return std::make_unique<IndexSource>(database, map, plan, options, reading);
}

}  // namespace penstock::lmdb
