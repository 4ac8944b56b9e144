#include "exchange/dense/dense_sum.h"

#include <algorithm>

#include "exchange/dense/are_finite.h"
#include "exchange/transport/tags.h"

namespace penstock::exchange {
namespace {

// 1 MiB: on up to eight ranks, parts of at least 128 KiB, which fit into
// caches.
constexpr size_t kPieceElements = size_t{1} << 18;

size_t part_size(size_t largest, int ranks) {
  const size_t piece = std::min(largest, kPieceElements);
  return (piece + size_t(ranks) - 1) / size_t(ranks);
}

void add(std::span<const float> from, std::span<float> to) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

}  // namespace

DenseSum::DenseSum(Transport& transport, Arena& arena, size_t largest)
    : transport_(transport), part_size_(part_size(largest, transport.size())) {
  const auto ranks = size_t(transport.size());
  for (Piece& piece : pieces_) {
    piece.memory = arena.take<float>(ranks * part_size_);
    piece.sent.resize(ranks);
    piece.received.resize(ranks);
  }
}

// The rank's part of the piece in values_. Parts of the last piece may be
// shorter, or empty.
std::span<float> DenseSum::part_of(const Piece& piece, int rank) const {
  const size_t first =
      std::min(values_.size(), piece.first + size_t(rank) * part_size_);
  return values_.subspan(first, std::min(part_size_, values_.size() - first));
}

std::span<float> DenseSum::whole(const Piece& piece) const {
  return values_.subspan(piece.first,
                         std::min(piece_size(), values_.size() - piece.first));
}

Status DenseSum::begin(std::span<float> values) {
  values_ = values;
  is_finite_ = true;
  count_ = values.empty() ? 0 : (values.size() - 1) / piece_size() + 1;
  begun_ = done_ = 0;
  while (begun_ < std::min(count_, kPieces)) {
    if (Status begun = begin_piece(begun_); !begun) return begun;
  }
  return Done{};
}

Status DenseSum::begin_piece(size_t number) {
  Piece& it = piece(number);
  it.first = number * piece_size();
  it.phase = Phase::kToOwners;
  ++begun_;
  const size_t own = part_of(it, transport_.rank()).size();
  Status received = receive(it, kDenseToOwnersTag, [&](int rank) {
    return it.memory.subspan(size_t(rank) * part_size_, own);
  });
  if (!received) return received;
  return send(it, kDenseToOwnersTag,
              [&](int rank) { return part_of(it, rank); });
}

// Pieces enter each phase in order, because messages of one tag match in the
// order in which they were begun.
Result<bool> DenseSum::advance() {
  for (size_t number = done_; number < begun_; ++number) {
    Piece& it = piece(number);
    if (it.phase == Phase::kDone) continue;
    Result<bool> moved = are_all_done(it);
    if (!moved) return moved;
    if (*moved && it.phase == Phase::kToOwners) {
      add_up(it);
      if (Status given = give_to_all(it); !given) {
        return std::move(given).error();
      }
    } else if (*moved) {
      is_finite_ = are_finite(whole(it)) && is_finite_;
      it.phase = Phase::kDone;
    } else if (it.phase == Phase::kToOwners) {
      break;
    }
  }
  for (; done_ < begun_ && piece(done_).phase == Phase::kDone; ++done_) {
    if (begun_ == count_) continue;
    if (Status begun = begin_piece(begun_); !begun) {
      return std::move(begun).error();
    }
  }
  return done_ == count_;
}

// Adds in the order of ranks: the ranks below ours in the memory for rank 0's
// part, then ours, then those above.
void DenseSum::add_up(Piece& it) {
  const int own = transport_.rank();
  const std::span<float> sums = part_of(it, own);
  const auto received_from = [&](int rank) {
    return it.memory.subspan(size_t(rank) * part_size_, sums.size());
  };
  if (own > 0) {
    const std::span<float> before = received_from(0);
    for (int rank = 1; rank < own; ++rank) add(received_from(rank), before);
    add(before, sums);
  }
  for (int rank = own + 1; rank < transport_.size(); ++rank) {
    add(received_from(rank), sums);
  }
}

Status DenseSum::give_to_all(Piece& it) {
  it.phase = Phase::kToAll;
  Status received =
      receive(it, kDenseToAllTag, [&](int rank) { return part_of(it, rank); });
  if (!received) return received;
  const std::span<float> sums = part_of(it, transport_.rank());
  return send(it, kDenseToAllTag, [&](int) { return sums; });
}

// Both sides compute the lengths of parts and skip empty ones. Each rank sends
// to its successor first, so that ranks do not all send to one.
template <class Part>
Status DenseSum::send(Piece& it, int tag, const Part& part) {
  for (int turn = 1; turn < transport_.size(); ++turn) {
    const int rank = (transport_.rank() + turn) % transport_.size();
    const std::span<const float> values = part(rank);
    if (values.empty()) continue;
    auto begun = transport_.send(rank, tag, std::as_bytes(values));
    if (!begun) return std::move(begun).error();
    it.sent[size_t(rank)] = {*begun, false};
  }
  return Done{};
}

template <class Part>
Status DenseSum::receive(Piece& it, int tag, const Part& part) {
  for (int turn = 1; turn < transport_.size(); ++turn) {
    const int rank =
        (transport_.rank() + transport_.size() - turn) % transport_.size();
    const std::span<float> room = part(rank);
    if (room.empty()) continue;
    auto begun = transport_.receive(rank, tag, std::as_writable_bytes(room));
    if (!begun) return std::move(begun).error();
    it.received[size_t(rank)] = {*begun, false};
  }
  return Done{};
}

Result<bool> DenseSum::are_all_done(Piece& it) {
  bool are_all = true;
  for (std::vector<Message>* messages : {&it.received, &it.sent}) {
    for (Message& message : *messages) {
      if (message.is_done) continue;
      Result<bool> done = transport_.test(message.request);
      if (!done) return done;
      message.is_done = *done;
      are_all = are_all && *done;
    }
  }
  return are_all;
}

}  // namespace penstock::exchange
