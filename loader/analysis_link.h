// A rank's connection to the `penstock analyze` that started it.
#pragma once

#include <optional>
#include <string>

#include "common/analysis_messages.h"
#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// Used by one thread.
class AnalysisLink {
 public:
  // Takes up to kConnect_ms.
  // Errors: kUnavailable  nobody listens there
  [[nodiscard]] static Result<AnalysisLink> connect(
      const AnalysisAddress& address);
  static constexpr int kConnect_ms = 5000;

  // Waits while its reader is slow, up to kSend_ms.
  // Errors: kUnavailable  the connection is lost
  [[nodiscard]] Status send(const AnalysisAnswer& answer);
  static constexpr int kSend_ms = 10000;

  // The next order; nullopt after timeout_ms without one.
  // Errors: kUnavailable  the connection is lost; kInvalidArgument  what came
  //         is no order
  [[nodiscard]] Result<std::optional<AnalysisOrder>> receive(int timeout_ms);

 private:
  explicit AnalysisLink(UniqueFd socket) : socket_(std::move(socket)) {}
  Result<std::optional<AnalysisOrder>> take_line();

  UniqueFd socket_;
  std::string received_;  // what came and is not a whole line yet
};

}  // namespace penstock
