#include "exchange/sparse/to_everybody.h"

#include <algorithm>
#include <cmath>

#include "exchange/plan/cost_model.h"
#include "exchange/transport/tags.h"

namespace penstock::exchange {

SparseShape to_everybody_shape(size_t elements, double density) {
  const double room = std::ceil(kSlack * density * double(elements));
  return {elements, std::min(elements, size_t(std::max(room, 1.0))), 0};
}

ToEverybody::ToEverybody(Transport& transport, Arena& arena,
                         const std::vector<SparseShape>& layers)
    : SparseExchange(transport, arena, largest_of(layers).send_entries,
                     kToEverybodyTag),
      sent_(arena.take<std::byte>(
          SparseMessage::bytes(largest_of(layers).send_entries))) {}

Result<SelectPass> ToEverybody::begin(const Input& input) {
  input_ = input;
  const SparseMessage message(sent_, input.shape.send_entries);
  const SelectPass found = input.residual->select(
      input.gradient, 0, input.shape.elements, input.threshold, message.room());
  Status selected = input.residual->status();
  if (!selected) return std::move(selected).error();
  const auto sent = message.finish(head(found.taken, found.is_finite));
  sent_bytes_ = sent.size();
  is_finite_ = true;
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (rank == transport_.rank()) continue;
    Status posted = messages_.post(rank, sent);
    if (!posted) return std::move(posted).error();
  }
  is_busy_ = true;
  return found;
}

Result<bool> ToEverybody::advance() {
  if (!is_busy_) return true;
  Result<bool> received = messages_.all_received();
  if (!received || !*received) return received;
  Result<bool> sent = messages_.all_sent();
  if (!sent || !*sent) return sent;
  if (Status taken = take_all(); !taken) return std::move(taken).error();
  is_busy_ = false;
  return true;
}

Status ToEverybody::take_all() {
  for (int rank = 0; rank < transport_.size(); ++rank) {
    const bool is_ours = rank == transport_.rank();
    const SparseMessage message(is_ours ? sent_ : messages_.memory(rank),
                                input_.shape.send_entries);
    const auto entries = read(
        rank, message, is_ours ? sent_bytes_ : messages_.received_bytes(rank),
        0, input_.shape.elements);
    if (!entries) return entries.error();
    parts_[size_t(rank)] = *entries;
  }
  return Done{};
}

}  // namespace penstock::exchange
