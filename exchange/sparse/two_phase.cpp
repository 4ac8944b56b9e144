#include "exchange/sparse/two_phase.h"

#include <algorithm>

namespace penstock::exchange {
namespace {

constexpr int kToOwnersTag = 1;

struct Largest {
  size_t region = 0, send_entries = 0, keep_entries = 0;
};

Largest largest_of(const std::vector<TwoPhaseShape>& layers, int ranks) {
  Largest largest;
  for (const TwoPhaseShape& shape : layers) {
    largest.region =
        std::max(largest.region, Regions(shape.elements, ranks).largest());
    largest.send_entries = std::max(largest.send_entries, shape.send_entries);
    largest.keep_entries = std::max(largest.keep_entries, shape.keep_entries);
  }
  return largest;
}

Error of_rank(Error error, int rank) {
  return std::move(error).wrap("rank " + std::to_string(rank));
}

}  // namespace

TwoPhase::TwoPhase(Transport& transport,
                   const std::vector<TwoPhaseShape>& layers)
    : transport_(transport), peers_(size_t(transport.size())) {
  const auto ranks = size_t(transport.size());
  const Largest largest = largest_of(layers, transport.size());
  const size_t message = SparseMessage::bytes(largest.send_entries);
  const size_t kept = SparseMessage::bytes(largest.keep_entries);
  for (size_t rank = 0; rank < ranks; ++rank) {
    peers_[rank].sent.resize(message);
    if (int(rank) != transport.rank()) peers_[rank].received.resize(message);
  }
  kept_.resize(kept);
  gathered_.resize(kept * ranks);
  indices_.resize(largest.keep_entries * ranks);
  values_.resize(largest.keep_entries * ranks);
  sum_ =
      std::make_unique<RegionSum>(largest.region, largest.send_entries * ranks);
}

SparseMessage TwoPhase::sent_to(int rank) {
  return {peers_[size_t(rank)].sent, input_.shape.send_entries};
}

SparseMessage TwoPhase::received_from(int rank) {
  if (rank == transport_.rank()) return sent_to(rank);
  return {peers_[size_t(rank)].received, input_.shape.send_entries};
}

SparseMessage TwoPhase::gathered_from(int rank) {
  const size_t bytes = SparseMessage::bytes(input_.shape.keep_entries);
  return {std::span(gathered_).subspan(bytes * size_t(rank), bytes),
          input_.shape.keep_entries};
}

Result<SelectPass> TwoPhase::begin(const Input& input) {
  input_ = input;
  regions_ = Regions(input.shape.elements, transport_.size());
  is_finite_ = true;
  entries_ = 0;
  const SelectPass found = select();
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (rank == transport_.rank()) continue;
    if (Status posted = post(rank); !posted) {
      return of_rank(std::move(posted).error(), rank);
    }
  }
  phase_ = Phase::kToOwners;
  return found;
}

// The messages to all owners, our own region's among them.
SelectPass TwoPhase::select() {
  SelectPass all;
  for (int rank = 0; rank < transport_.size(); ++rank) {
    const size_t first = regions_.begin(rank), size = regions_.size(rank);
    const SelectPass found = accumulate_and_select(
        input_.gradient.empty() ? input_.gradient
                                : input_.gradient.subspan(first, size),
        input_.residual.subspan(first, size), input_.threshold,
        static_cast<uint32_t>(first), sent_to(rank).room());
    peers_[size_t(rank)].entries = static_cast<uint32_t>(found.taken);
    all.taken += found.taken;
    all.candidates += found.candidates;
    all.is_finite = all.is_finite && found.is_finite;
  }
  for (int rank = 0; rank < transport_.size(); ++rank) {
    Peer& peer = peers_[size_t(rank)];
    peer.sent_bytes =
        sent_to(rank).finish(head(peer.entries, all.is_finite)).size();
  }
  return all;
}

Status TwoPhase::post(int rank) {
  Peer& peer = peers_[size_t(rank)];
  auto receive =
      transport_.receive(rank, kToOwnersTag, received_from(rank).memory());
  if (!receive) return std::move(receive).error();
  peer.receive = *receive;
  peer.is_received = false;
  auto send = transport_.send(rank, kToOwnersTag,
                              std::span(peer.sent).first(peer.sent_bytes));
  if (!send) return std::move(send).error();
  peer.send = *send;
  peer.is_sent = false;
  return Done{};
}

Result<bool> TwoPhase::advance() {
  if (phase_ == Phase::kToOwners) {
    Result<bool> received = all_received();
    if (!received || !*received) return received;
    if (Status added = add_up(); !added) return std::move(added).error();
    if (Status given = give_to_all(); !given) return std::move(given).error();
    phase_ = Phase::kToAll;
  }
  if (phase_ == Phase::kToAll) {
    Result<bool> sent = all_sent();
    if (!sent || !*sent) return sent;
    if (!is_gathered_) {
      Result<bool> gathered = transport_.test(gather_);
      if (!gathered || !*gathered) return gathered;
      is_gathered_ = true;
    }
    if (Status taken = take_all(); !taken) return std::move(taken).error();
    phase_ = Phase::kIdle;
  }
  return true;
}

Result<bool> TwoPhase::all_received() {
  bool are_all = true;
  for (int rank = 0; rank < transport_.size(); ++rank) {
    Peer& peer = peers_[size_t(rank)];
    if (peer.is_received) continue;
    const Result<bool> done =
        transport_.test(peer.receive, &peer.received_bytes);
    if (!done) return of_rank(done.error(), rank);
    peer.is_received = *done;
    are_all = are_all && *done;
  }
  return are_all;
}

Result<bool> TwoPhase::all_sent() {
  bool are_all = true;
  for (int rank = 0; rank < transport_.size(); ++rank) {
    Peer& peer = peers_[size_t(rank)];
    if (peer.is_sent) continue;
    const Result<bool> done = transport_.test(peer.send);
    if (!done) return of_rank(done.error(), rank);
    peer.is_sent = *done;
    are_all = are_all && *done;
  }
  return are_all;
}

// In the order of ranks, whoever came first.
Status TwoPhase::add_up() {
  const size_t first = regions_.begin(transport_.rank());
  const size_t size = regions_.size(transport_.rank());
  sum_->begin(first, size);
  for (int rank = 0; rank < transport_.size(); ++rank) {
    const Peer& peer = peers_[size_t(rank)];
    const bool is_ours = rank == transport_.rank();
    const SparseMessage message = received_from(rank);
    const auto entries = message.read(
        head(), is_ours ? peer.sent_bytes : peer.received_bytes, first, size);
    if (!entries) return of_rank(entries.error(), rank);
    is_finite_ = is_finite_ && message.head().is_finite != 0;
    sum_->add(*entries);
  }
  return Done{};
}

Status TwoPhase::give_to_all() {
  const size_t first = regions_.begin(transport_.rank());
  const size_t size = regions_.size(transport_.rank());
  const SparseMessage message(kept_, input_.shape.keep_entries);
  const size_t taken =
      sum_->take(message.room(), input_.residual.subspan(first, size));
  (void)message.finish(head(static_cast<uint32_t>(taken), is_finite_));
  const size_t bytes = message.memory().size();
  auto gather = transport_.allgather(
      message.memory(),
      std::span(gathered_).first(bytes * size_t(transport_.size())));
  if (!gather) return std::move(gather).error();
  gather_ = *gather;
  is_gathered_ = false;
  return Done{};
}

Status TwoPhase::take_all() {
  for (int rank = 0; rank < transport_.size(); ++rank) {
    const SparseMessage message = gathered_from(rank);
    const auto kept =
        message.read(head(), SparseMessage::bytes(message.head().entries),
                     regions_.begin(rank), regions_.size(rank));
    if (!kept) return of_rank(kept.error(), rank);
    is_finite_ = is_finite_ && message.head().is_finite != 0;
    std::copy(kept->indices.begin(), kept->indices.end(),
              indices_.begin() + std::ptrdiff_t(entries_));
    std::copy(kept->values.begin(), kept->values.end(),
              values_.begin() + std::ptrdiff_t(entries_));
    entries_ += kept->indices.size();
  }
  return Done{};
}

}  // namespace penstock::exchange
