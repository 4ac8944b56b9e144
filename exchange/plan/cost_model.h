// How long the ways of exchanging a layer's gradient take, by a model whose
// constants are fitted to the machine (docs/exchange.md). Pure.
#pragma once

#include <cstddef>

namespace penstock::exchange {

// Room of a message for entries beyond those that are expected in it.
inline constexpr double kSlack = 1.25;

enum class Method {
  kDense,      // every element, summed by all ranks together
  kAllgather,  // what each rank picked out, to all others
  kTwoPhase    // what each rank picked out, to its owner; the sums to all
};

// Seconds for one of each.
struct ExchangeCosts {
  double message_s = 0;  // to begin a message and have it answered for
  double byte_s = 0;     // through the link of a rank
  double add_s = 0;      // an element of a dense sum
  double select_s = 0;   // an element that a selection looks at
  double record_s = 0;   // an entry that is merged and applied
};

struct ExchangeSize {
  size_t elements = 0;
  int ranks = 1;
  double density = 1;  // of entries that are picked out, 0 to 1
};

// With its selection, which is none for kDense. One rank exchanges nothing: its
// selection is all that it pays for.
double exchange_s(Method method, const ExchangeSize& size,
                  const ExchangeCosts& costs);

// The one that takes least; of equal ones the first.
Method cheapest(const ExchangeSize& size, const ExchangeCosts& costs);

}  // namespace penstock::exchange
