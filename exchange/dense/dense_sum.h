// A dense sum over all ranks, piece by piece. Each rank owns a part of every
// piece: it receives the part from all others, adds up in the order of ranks,
// and sends the sums to all.
//
// Three pieces are in flight at once, so that links and processors both have
// work. Open MPI 4's MPI_Iallreduce sends twice as much, and does not add while
// it receives (decision 82).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "exchange/memory/arena.h"
#include "exchange/transport/transport.h"

namespace penstock::exchange {

// Not thread-safe. One sum at a time. Allocates in the constructor only.
class DenseSum {
 public:
  // largest: most elements of a sum. The transport and the arena must outlive
  // it; requests_of(ranks) requests must be reserved.
  DenseSum(Transport& transport, Arena& arena, size_t largest);
  static size_t requests_of(int ranks) { return 2 * kPieces * size_t(ranks); }

  // Begins to replace the values by their sums over all ranks; the same bits on
  // all ranks. The values must stay valid until the sum is done.
  // REQUIRES: the last sum is done; values.size() <= largest
  // Errors, also advance()'s: the transport's; it is unusable afterwards
  [[nodiscard]] Status begin(std::span<float> values);
  // Advances without waiting for messages; true: the sum is done.
  [[nodiscard]] Result<bool> advance();
  // Whether all sums are finite. REQUIRES: the sum is done. (Pieces are checked
  // as they complete, while they are in caches.)
  bool is_finite() const { return is_finite_; }

 private:
  // A message in flight, or a completed one.
  struct Message {
    Transport::Request request;
    bool is_done = true;
  };
  enum class Phase { kDone, kToOwners, kToAll };
  struct Piece {
    Phase phase = Phase::kDone;
    size_t first = 0;                     // index of the first element
    std::span<float> memory;              // a received part for each rank
    std::vector<Message> sent, received;  // by rank, in this phase
  };
  static constexpr size_t kPieces = 3;  // in flight at once

  size_t piece_size() const { return size_t(transport_.size()) * part_size_; }
  Piece& piece(size_t number) { return pieces_[number % kPieces]; }
  std::span<float> part_of(const Piece& piece, int rank) const;
  std::span<float> whole(const Piece& piece) const;
  Status begin_piece(size_t number);
  void add_up(Piece& piece);
  Status give_to_all(Piece& piece);
  // part(rank): the buffer to send to that rank, or to receive into.
  template <class Part>
  Status send(Piece& piece, int tag, const Part& part);
  template <class Part>
  Status receive(Piece& piece, int tag, const Part& part);
  Result<bool> are_all_done(Piece& piece);

  Transport& transport_;
  size_t part_size_;
  std::array<Piece, kPieces> pieces_;
  std::span<float> values_;
  size_t count_ = 0;  // pieces of this sum
  size_t begun_ = 0, done_ = 0;
  bool is_finite_ = true;
};

}  // namespace penstock::exchange
