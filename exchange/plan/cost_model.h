// Predicts the time of each method of exchanging a layer's gradient. The
// model's constants are fitted to the machine (docs/exchange.md). Pure.
#pragma once

#include <cstddef>

namespace penstock::exchange {

// Capacity of a message, relative to its expected number of entries.
inline constexpr double kSlack = 1.25;

enum class Method {
  kDense,      // all ranks sum up every element
  kAllgather,  // each rank sends its entries to all others
  kTwoPhase    // entries go to their owner, the owner's sums to all
};

const char* method_name(Method method);  // "dense", "allgather", "two_phase"

// Seconds per unit of work.
struct ExchangeCosts {
  double message_s = 0;  // latency of a message
  double byte_s = 0;     // a byte over one rank's link
  double add_s = 0;      // an element of a dense sum
  double select_s = 0;   // an element examined by a selection
  double record_s = 0;   // an entry merged and applied
};

struct ExchangeSize {
  size_t elements = 0;
  int ranks = 1;
  double density = 1;  // share of elements selected, 0 to 1
};

// Seconds for one exchange, with its selection (kDense has none). For one rank,
// all terms of messages, bytes and dense sums are 0.
double exchange_s(Method method, const ExchangeSize& size,
                  const ExchangeCosts& costs);

// The method with the lowest exchange_s(); of equal ones, the first in the
// enum.
Method cheapest(const ExchangeSize& size, const ExchangeCosts& costs);

}  // namespace penstock::exchange
