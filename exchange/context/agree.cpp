#include "exchange/context/agree.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "exchange/context/agreement.h"
#include "exchange/context/pause.h"
#include "exchange/memory/arena.h"

namespace penstock::exchange {
namespace {

using Clock = std::chrono::steady_clock;
// Interval of the checks for a failed rank.
constexpr auto kListen = std::chrono::milliseconds(10);

Status wait_for(Transport& transport, Transport::Request request,
                double timeout_s, const Heard& heard) {
  const auto start = Clock::now();
  auto listened = start;
  for (Pause pause;; pause.wait()) {
    const Result<bool> done = transport.test(request);
    if (!done) return done.error();
    if (*done) return Done{};
    const auto now = Clock::now();
    if (heard && now - listened > kListen) {
      listened = now;
      if (const auto failure = heard()) {
        return Error{Code::kUnavailable, 0, *failure};
      }
    }
    const std::chrono::duration<double> waited = now - start;
    if (waited.count() > timeout_s) {
      return Error{Code::kUnavailable, 0,
                   fmt::format("not all {} ranks have planned their exchange "
                               "within {} s: has one of them ended?",
                               transport.size(), timeout_s)};
    }
  }
}

// All ranks' records, in the order of ranks.
template <class Record>
Result<std::vector<Record>> gather(Transport& transport, double timeout_s,
                                   const Heard& heard,
                                   const std::vector<Record>& mine) {
  const size_t records = mine.size() * (size_t(transport.size()) + 1);
  Arena measured;
  (void)measured.take<Record>(records);
  Result<Arena> memory = Arena::of(measured.used());
  if (!memory) return std::move(memory).error();
  const auto held = memory->take<Record>(records);
  const auto given = held.first(mine.size()), all = held.subspan(mine.size());
  std::copy(mine.begin(), mine.end(), given.begin());
  const auto request =
      transport.allgather(std::as_bytes(given), std::as_writable_bytes(all));
  if (!request) return request.error();
  if (Status done = wait_for(transport, *request, timeout_s, heard); !done) {
    memory->abandon();  // a late answer is still written into it
    return std::move(done).error();
  }
  return std::vector<Record>(all.begin(), all.end());
}

std::string refusal_of_this(const ContextOptions& options,
                            std::span<const LayerOptions> layers,
                            const std::string& refusal) {
  if (!refusal.empty()) return refusal;
  if (layers.empty()) return "no layer to exchange";
  if (std::string text = refusal_of(options); !text.empty()) return text;
  for (const LayerOptions& layer : layers) {
    if (std::string text = refusal_of(layer); !text.empty()) return text;
  }
  return "";
}

}  // namespace

Result<ExchangeCosts> agree(Transport& transport, const ContextOptions& options,
                            std::span<const LayerOptions> layers,
                            const std::string& refusal, const Heard& heard) {
  // An invalid time-out must not keep this rank from sending its refusal.
  const double timeout_s =
      options.timeout_s > 0 ? options.timeout_s : ContextOptions().timeout_s;
  const auto ranks = gather<RankRecord>(
      transport, timeout_s, heard,
      {record_of(options, layers.size(),
                 refusal_of_this(options, layers, refusal))});
  if (!ranks) return ranks.error();
  if (std::string text = disagreement(*ranks); !text.empty()) {
    return invalid(std::move(text));
  }
  std::vector<LayerRecord> mine;
  for (const LayerOptions& layer : layers) mine.push_back(record_of(layer));
  const auto records = gather(transport, timeout_s, heard, mine);
  if (!records) return records.error();
  std::string text = disagreement(*records, transport.size());
  if (!text.empty()) return invalid(std::move(text));
  return (*ranks)[0].costs;
}

}  // namespace penstock::exchange
