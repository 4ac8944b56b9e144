// A sparse sum over all ranks: each picks out what is large of its residual,
// and gets what was picked out and summed up of all.
#pragma once

#include <span>
#include <string>

#include "common/result.h"
#include "exchange/sparse/residual.h"
#include "exchange/sparse/sparse_message.h"

namespace penstock::exchange {

// Of a layer; the same on all ranks.
struct SparseShape {
  size_t elements = 0;
  size_t send_entries = 0;  // most in a message of what was picked out
  size_t keep_entries = 0;  // most sums of a region's that are given to all
};

// For one thread. One exchange at a time; nothing is allocated after the
// constructor.
class SparseExchange {
 public:
  struct Input {
    SparseShape shape;   // one that the constructor was given
    uint32_t layer = 0;  // for ranks that lose each other
    uint32_t step = 0;
    float threshold = 0;              // as accumulate_and_select()
    std::span<const float> gradient;  // may be reused when begin() returns
    Residual* residual = nullptr;     // must stay until the exchange is done
  };

  virtual ~SparseExchange() = default;
  SparseExchange(const SparseExchange&) = delete;
  SparseExchange& operator=(const SparseExchange&) = delete;

  // Picks out and sends. REQUIRES: the exchange before is done.
  // Errors: the transport's, and the residual's status()
  [[nodiscard]] virtual Result<SelectPass> begin(const Input& input) = 0;

  // Goes on as far as messages are there; true: it is done. After an error
  // nothing more can be exchanged.
  // Errors: kInvalidArgument  ranks have lost each other
  //         kIo               the transport's
  [[nodiscard]] virtual Result<bool> advance() = 0;

  // What has to be added, part by part, is the sum; the same on all ranks.
  // Until begin(). REQUIRES: it is done; 0 <= rank < parts().
  virtual SparseView part(int rank) const = 0;
  virtual int parts() const = 0;

  // False: what some rank gave was infinite or no number; all ranks know.
  virtual bool is_finite() const = 0;
  // By this rank, in this exchange.
  virtual size_t sent_bytes() const = 0;
  // The ranks that it waits for, or "".
  virtual std::string missing() const = 0;

 protected:
  SparseExchange() = default;
};

}  // namespace penstock::exchange
