// The sum of all elements over all ranks, piece by piece: of each piece every
// rank owns a part, which it is sent by all others, adds up in the order of
// ranks, and gives to all. Several pieces are on their way at once, so that
// links and processors both have work. (Open MPI 4's MPI_Iallreduce sends twice
// as much, and does not add while it receives.)
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "exchange/memory/arena.h"
#include "exchange/transport/transport.h"

namespace penstock::exchange {

// For one thread. One sum at a time; nothing is allocated after the
// constructor.
class DenseSum {
 public:
  // Memory for sums of so many elements at most. The transport, with room for
  // requests_of(ranks), and the arena must outlive it.
  DenseSum(Transport& transport, Arena& arena, size_t largest);
  static size_t requests_of(int ranks) { return 2 * kPieces * size_t(ranks); }

  // Begins to replace the values by their sums; the same bits on all ranks.
  // They must stay until it is done.
  // REQUIRES: the sum before is done; values.size() <= largest
  // Errors: the transport's, of advance(), too: nothing more can be summed then
  [[nodiscard]] Status begin(std::span<float> values);
  // Goes on as far as messages are there; true: it is done.
  [[nodiscard]] Result<bool> advance();
  // Of the sum that is done: whether all sums are finite. (They are looked at
  // piece by piece, while caches have them.)
  bool is_finite() const { return is_finite_; }

 private:
  // Begun; true when done.
  struct Message {
    Transport::Request request;
    bool is_done = true;
  };
  enum class Phase { kDone, kToOwners, kToAll };
  struct Piece {
    Phase phase = Phase::kDone;
    size_t first = 0;                     // element
    std::span<float> memory;              // a part for each rank
    std::vector<Message> sent, received;  // by rank, of the phase
  };
  static constexpr size_t kPieces = 3;  // on their way at once

  size_t piece_size() const { return size_t(transport_.size()) * part_size_; }
  Piece& piece(size_t number) { return pieces_[number % kPieces]; }
  std::span<float> part_of(const Piece& piece, int rank) const;
  std::span<float> whole(const Piece& piece) const;
  Status begin_piece(size_t number);
  void add_up(Piece& piece);
  Status give_to_all(Piece& piece);
  // part(rank): what is exchanged with it.
  template <class Part>
  Status send(Piece& piece, int tag, const Part& part);
  template <class Part>
  Status receive(Piece& piece, int tag, const Part& part);
  Result<bool> are_all_done(Piece& piece);

  Transport& transport_;
  size_t part_size_;
  std::array<Piece, kPieces> pieces_;
  std::span<float> values_;
  size_t count_ = 0;  // pieces of the sum
  size_t begun_ = 0, done_ = 0;
  bool is_finite_ = true;
};

}  // namespace penstock::exchange
