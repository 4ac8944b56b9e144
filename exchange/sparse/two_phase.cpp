#include "exchange/sparse/two_phase.h"

#include <algorithm>
#include <cmath>

#include "exchange/plan/cost_model.h"
#include "exchange/select/largest.h"
#include "exchange/transport/tags.h"

namespace penstock::exchange {
namespace {

// Interval, in steps, at which a full message gets the largest entries of its
// region. Finding them takes another pass over the region.
constexpr uint32_t kLargestSteps = 8;

}  // namespace

SparseShape two_phase_shape(size_t elements, double density, double keep_factor,
                            int ranks) {
  const size_t region = Regions(elements, ranks).largest();
  const double expected = kSlack * density * double(elements) / ranks;
  const auto room = [region](double entries) {
    return size_t(std::ceil(std::min(std::max(entries, 1.0), double(region))));
  };
  return {elements, room(expected), room(expected * keep_factor)};
}

TwoPhase::TwoPhase(Transport& transport, Arena& arena,
                   const std::vector<SparseShape>& layers)
    : SparseExchange(transport, arena, largest_of(layers).send_entries,
                     kToOwnersTag),
      sent_(size_t(transport.size())),
      sum_(Regions(largest_of(layers).elements, transport.size()).largest(),
           largest_of(layers).send_entries * size_t(transport.size()), arena) {
  const SparseShape largest = largest_of(layers);
  for (Sent& one : sent_) {
    one.memory =
        arena.take<std::byte>(SparseMessage::bytes(largest.send_entries));
  }
  const size_t kept = SparseMessage::bytes(largest.keep_entries);
  kept_ = arena.take<std::byte>(kept);
  gathered_ = arena.take<std::byte>(
      std::max(kept, SparseMessage::bytes(largest.send_entries)) *
      sent_.size());
}

SparseMessage TwoPhase::sent_to(int rank) {
  return {sent_[size_t(rank)].memory, input_.shape.send_entries};
}

SparseMessage TwoPhase::gathered_from(int rank) {
  const size_t bytes = SparseMessage::bytes(input_.shape.keep_entries);
  return {gathered_.subspan(bytes * size_t(rank), bytes),
          input_.shape.keep_entries};
}

size_t TwoPhase::sent_bytes() const {
  size_t bytes = 0;
  for (size_t rank = 0; rank < sent_.size(); ++rank) {
    if (int(rank) != transport_.rank()) bytes += sent_[rank].bytes;
  }
  return bytes +
         SparseMessage::bytes(input_.shape.keep_entries) * (sent_.size() - 1);
}

Result<SelectPass> TwoPhase::begin(const Input& input) {
  input_ = input;
  regions_ = Regions(input.shape.elements, transport_.size());
  is_finite_ = true;
  const SelectPass found = select();
  Status selected = input.residual->status();
  if (!selected) return std::move(selected).error();
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (rank == transport_.rank()) continue;
    const Sent& one = sent_[size_t(rank)];
    Status posted = messages_.post(rank, one.memory.first(one.bytes));
    if (!posted) return std::move(posted).error();
  }
  phase_ = Phase::kToOwners;
  return found;
}

// Fills the messages to all owners, ours included.
SelectPass TwoPhase::select() {
  SelectPass all;
  for (int rank = 0; rank < transport_.size(); ++rank) {
    const SelectPass found = select_region(rank);
    sent_[size_t(rank)].entries = static_cast<uint32_t>(found.taken);
    all.taken += found.taken;
    all.candidates += found.candidates;
    all.is_finite = all.is_finite && found.is_finite;
  }
  for (int rank = 0; rank < transport_.size(); ++rank) {
    Sent& one = sent_[size_t(rank)];
    one.bytes = sent_to(rank).finish(head(one.entries, all.is_finite)).size();
  }
  return all;
}

SelectPass TwoPhase::select_region(int rank) {
  const size_t first = regions_.begin(rank), size = regions_.size(rank);
  SelectPass found = input_.residual->select(
      input_.gradient.empty() ? input_.gradient
                              : input_.gradient.subspan(first, size),
      first, size, input_.threshold, sent_to(rank).room());
  const bool is_full = found.candidates > found.taken && found.taken > 0;
  // With more candidates than a whole layer's messages hold, the threshold is
  // too low; it is raised from step to step.
  const bool has_room = found.candidates <= candidates_room().values.size();
  if (is_full && has_room && found.is_finite &&
      input_.step % kLargestSteps == 0) {
    found.taken = select_largest(rank, found.taken);
  }
  return found;
}

// Scratch space in gathered_, with room for the entries of all of a layer's
// messages. It is free until give_to_all() begins the allgather.
SparseRoom TwoPhase::candidates_room() const {
  const size_t entries = gathered_.size() / (sizeof(uint32_t) + sizeof(float));
  auto* const memory = reinterpret_cast<uint32_t*>(gathered_.data());
  return {{memory, entries},
          {reinterpret_cast<float*>(memory + entries), entries}};
}

// Replaces the `taken` first candidates by the largest ones. Otherwise
// candidates behind the first ones would never leave the residual if as many
// are large in every step. By the next interval they have grown to be the
// largest.
size_t TwoPhase::select_largest(int rank, size_t taken) {
  Residual& residual = *input_.residual;
  const SparseRoom room = sent_to(rank).room();
  const SparseRoom all = candidates_room();
  std::copy_n(room.indices.begin(), taken, all.indices.begin());
  std::copy_n(room.values.begin(), taken, all.values.begin());
  const SelectPass others = residual.select(
      {}, regions_.begin(rank), regions_.size(rank), input_.threshold,
      {all.indices.subspan(taken), all.values.subspan(taken)});
  const size_t candidates = taken + others.taken;

  Largest largest(all.values.first(candidates), taken);
  size_t sent = 0, left = 0;
  for (size_t i = 0; i < candidates; ++i) {
    if (largest.takes(all.values[i])) {
      room.indices[sent] = all.indices[i];
      room.values[sent++] = all.values[i];
    } else {
      all.indices[left] = all.indices[i];
      all.values[left++] = all.values[i];
    }
  }
  residual.add({all.indices.first(left), all.values.first(left)});
  return sent;
}

Result<bool> TwoPhase::advance() {
  if (phase_ == Phase::kToOwners) {
    Result<bool> received = messages_.all_received();
    if (!received || !*received) return received;
    if (Status added = add_up(); !added) return std::move(added).error();
    if (Status given = give_to_all(); !given) return std::move(given).error();
    phase_ = Phase::kToAll;
  }
  if (phase_ == Phase::kToAll) {
    Result<bool> sent = messages_.all_sent();
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

// Adds in the order of ranks, not of arrival, so that sums are reproducible.
Status TwoPhase::add_up() {
  const size_t first = regions_.begin(transport_.rank());
  const size_t size = regions_.size(transport_.rank());
  sum_.begin(first, size);
  for (int rank = 0; rank < transport_.size(); ++rank) {
    const bool is_ours = rank == transport_.rank();
    const SparseMessage message =
        is_ours
            ? sent_to(rank)
            : SparseMessage(messages_.memory(rank), input_.shape.send_entries);
    const auto entries = read(
        rank, message,
        is_ours ? sent_[size_t(rank)].bytes : messages_.received_bytes(rank),
        first, size);
    if (!entries) return entries.error();
    sum_.add(*entries);
  }
  return Done{};
}

Status TwoPhase::give_to_all() {
  const SparseMessage message(kept_, input_.shape.keep_entries);
  const size_t taken =
      sum_.take(message.room(), candidates_room(), *input_.residual);
  (void)message.finish(head(taken, is_finite_));
  const size_t bytes = message.memory().size();
  auto gather = transport_.allgather(message.memory(),
                                     gathered_.first(bytes * sent_.size()));
  if (!gather) return std::move(gather).error();
  gather_ = *gather;
  is_gathered_ = false;
  return Done{};
}

Status TwoPhase::take_all() {
  for (int rank = 0; rank < transport_.size(); ++rank) {
    const SparseMessage message = gathered_from(rank);
    const auto kept =
        read(rank, message, SparseMessage::bytes(message.head().entries),
             regions_.begin(rank), regions_.size(rank));
    if (!kept) return kept.error();
    parts_[size_t(rank)] = *kept;
  }
  return Done{};
}

}  // namespace penstock::exchange
