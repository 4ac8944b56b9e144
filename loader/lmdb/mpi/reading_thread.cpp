#include "loader/lmdb/mpi/reading_thread.h"

#include <cerrno>
#include <chrono>
#include <string>

#include "common/clock.h"

namespace penstock::lmdb {

ReadingThread::ReadingThread(NodeShare& share, const RunPlan& plan,
                             ReadPacer& pacer,
                             std::unique_ptr<ChunkSource> source,
                             const Duties& duties)
    : share_(share),
      plan_(plan),
      pacer_(pacer),
      source_(std::move(source)),
      duties_(duties),
      thread_([this] { run(); }) {}

ReadingThread::~ReadingThread() {
  change_to(Phase::kStopping);
  share_.ring().wake_all();
  thread_.join();
}

Status ReadingThread::look() {
  if (phase_ == Phase::kStopping)
    return Error{Code::kUnavailable, ECANCELED, "closing"};
  if (duties_.is_listening) share_.listen();
  return share_.look();
}

void ReadingThread::run() {
  phase_.wait(Phase::kWaiting);
  if (phase_ == Phase::kStopping) return;
  pacer_.thread(true);
  source_->set_pace([this](uint64_t bytes) {
    return pacer_.wait(bytes, [this] { return look(); });
  });
  read_all();
  pacer_.thread(false);
}

void ReadingThread::read_all() {
  const ChunkShare& chunks = duties_.chunks;
  for (uint64_t c = chunks.first; c < chunks.end; c += chunks.stride) {
    Status read = read_chunk(c);
    if (read) continue;
    if (phase_ != Phase::kStopping) share_.fail(read.error());
    return;
  }
}

Status ReadingThread::read_chunk(uint64_t chunk) {
  if (duties_.is_listening) share_.listen();
  NodeRing& ring = share_.ring();
  const auto looking = [this] { return look(); };
  // Waits for room first: a node that has its turn must not wait for trainers.
  if (Status free = ring.wait_free(chunk, looking); !free) return free;
  if (Status turn = wait_turn(chunk); !turn) return turn;
  uint64_t waited_ns = 0;  // for ranks; not part of the fetch time
  const auto room = [&]() -> Result<std::span<uint8_t>> {
    const uint64_t from_ns = monotonic_ns();
    if (Status free = ring.wait_data_free(chunk, looking); !free) {
      return std::move(free).error();
    }
    waited_ns += monotonic_ns() - from_ns;
    return ring.back_data(chunk);
  };
  const uint64_t begin_ns = monotonic_ns();
  Result<bool> is_mapped =
      source_->fill(plan_.batches.chunk(chunk), ring.entries(chunk), room);
  pass_turn(chunk);
  if (!is_mapped) return std::move(is_mapped).error();
  count(monotonic_ns() - begin_ns - waited_ns);
  ring.publish(chunk, *is_mapped);
  return Done{};
}

Status ReadingThread::wait_turn(uint64_t turn) {
  const auto from = duties_.tokens.from(share_.world().node_number(), turn);
  if (duties_.tokens.readers == 1 || !from) return Done{};
  constexpr uint64_t kLook_ns = uint64_t{NodeRing::kLook_ms} * 1000000;
  const uint64_t begin_ns = monotonic_ns();
  uint64_t looked_ns = begin_ns;
  while (!share_.world().has_token(*from, turn)) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const uint64_t now_ns = monotonic_ns();
    if (now_ns - looked_ns < kLook_ns) continue;
    looked_ns = now_ns;
    if (Status ok = look(); !ok) return ok;
    if (now_ns - begin_ns > uint64_t{duties_.token_timeout_ms} * 1000000) {
      return Error{Code::kUnavailable, 0,
                   "node " + std::to_string(*from) +
                       " did not pass its turn on within " +
                       std::to_string(duties_.token_timeout_ms) +
                       " ms; its reader may have died"};
    }
  }
  return Done{};
}

void ReadingThread::pass_turn(uint64_t turn) {
  if (duties_.tokens.readers == 1) return;
  const uint32_t me = share_.world().node_number();
  const auto to = duties_.tokens.to(me, turn);
  if (to) share_.world().send_token(*to, *to > me ? turn : turn + 1);
}

void ReadingThread::count(uint64_t fetch_ns) {
  const ReadCounts& now = source_->counts();
  counts_[0] = now.read_bytes;
  counts_[1] = now.requests;
  counts_[2] = now.read_chunks;
  counts_[3] = now.mapped_chunks;
  counts_[4] += fetch_ns;
}

ReadCounts ReadingThread::counts() const {
  return {counts_[0], counts_[1], counts_[4], counts_[2], counts_[3]};
}

}  // namespace penstock::lmdb
