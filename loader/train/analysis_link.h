// A rank's connection to the `penstock analyze` that started it.
#pragma once

#include <optional>
#include <string>

#include "common/result.h"
#include "common/unique_fd.h"
#include "wire/analysis_messages.h"

namespace penstock {

// Used by one thread.
class AnalysisLink {
 public:
  // Blocks for at most kConnect_ms per address of the host.
  // Errors: kUnavailable  the name is unknown, or no connection
  [[nodiscard]] static Result<AnalysisLink> connect(
      const AnalysisAddress& address);
  static constexpr int kConnect_ms = 5000;

  // Blocks while the peer's receive buffer is full, for at most kSend_ms.
  // Errors: kUnavailable  the connection is lost
  [[nodiscard]] Status send(const AnalysisAnswer& answer);
  static constexpr int kSend_ms = 10000;

  // The next order; nullopt if none came within timeout_ms.
  // Errors: kUnavailable  the connection is lost; kInvalidArgument  a line that
  //         is not an order
  [[nodiscard]] Result<std::optional<AnalysisOrder>> receive(int timeout_ms);

 private:
  explicit AnalysisLink(UniqueFd socket) : socket_(std::move(socket)) {}
  Result<std::optional<AnalysisOrder>> take_line();

  UniqueFd socket_;
  std::string received_;  // bytes of lines not taken yet
};

}  // namespace penstock
