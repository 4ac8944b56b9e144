#include "exchange/context/failures.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "exchange/transport/tags.h"

namespace penstock::exchange {
namespace {

constexpr size_t kMostText = 256;
constexpr auto kMostWait = std::chrono::seconds(1);
constexpr auto kPause = std::chrono::microseconds(100);

// False: an error, or not done at `until`.
bool wait_for(Transport& transport, Transport::Request request,
              std::chrono::steady_clock::time_point until) {
  for (;;) {
    const Result<bool> done = transport.test(request);
    if (!done) return false;
    if (*done) return true;
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

Result<Failures> Failures::make(Transport& transport) {
  Result<Arena> memory = Arena::of(2 * kMostText);
  if (!memory) return std::move(memory).error();
  return Failures(transport, std::move(*memory));
}

Failures::Failures(Transport& transport, Arena memory)
    : transport_(transport),
      memory_(std::move(memory)),
      told_(memory_.take<char>(kMostText)),
      heard_(memory_.take<char>(kMostText)) {
  sends_.reserve(size_t(transport.size()));
}

void Failures::tell(const std::string& text) {
  if (told_[0] != '\0' || transport_.size() == 1) return;
  const size_t length = std::min(text.size(), kMostText - 1);
  std::copy_n(text.begin(), length, told_.begin());
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (rank == transport_.rank()) continue;
    const auto sent = transport_.send(rank, kFailedTag, std::as_bytes(told_));
    if (sent) sends_.push_back(*sent);
  }
  const auto until = std::chrono::steady_clock::now() + kMostWait;
  for (const Transport::Request send : sends_) {
    if (!wait_for(transport_, send, until)) memory_.abandon();
  }
}

std::optional<std::string> Failures::heard() {
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (rank == transport_.rank()) continue;
    const Result<bool> is_there = transport_.has_message(rank, kFailedTag);
    if (!is_there || !*is_there) continue;
    const auto request =
        transport_.receive(rank, kFailedTag, std::as_writable_bytes(heard_));
    if (!request) continue;
    const auto until = std::chrono::steady_clock::now() + kMostWait;
    if (!wait_for(transport_, *request, until)) {
      memory_.abandon();
      continue;
    }
    const auto end = std::find(heard_.begin(), heard_.end(), '\0');
    return "rank " + std::to_string(rank) +
           " has failed: " + std::string(heard_.begin(), end);
  }
  return std::nullopt;
}

}  // namespace penstock::exchange
