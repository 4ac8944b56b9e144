// Queries penstockctld (docs/protocol.md, "Questions to a controller").
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "link/credential.h"
#include "link/trust.h"
#include "wire/query.h"

namespace penstock {

// For each controller; twice if it does not run as the expected user.
inline constexpr int kAskControllerTimeoutMs = 3000;

struct Controllers {
  std::vector<ControllerAddress> addresses;
  Trust trust = {};
};

// One page of the answer, from the first controller that is active and answers
// in time.
// Errors: kUnavailable       none does: names each with a remedy
//         kPermissionDenied  the controller refuses; or the answer is sealed by
//                            none of root, ControllerUser and the caller
//         kInvalidArgument   no controller is configured; an answer that
//                            breaks the protocol; the controller refuses
//         others             munge's, the controller's own
[[nodiscard]] Result<nlohmann::json> ask_controllers(
    const Controllers& controllers, const ControllerQuery& query,
    Credentials& credentials, int timeout_ms = kAskControllerTimeoutMs);

// The controller of --controller, or the site's controllers if that is "".
// Errors: kInvalidArgument  not HOST:PORT
[[nodiscard]] Result<Controllers> chosen_controllers(const std::string& named,
                                                     const Config& config);

// Takes a page. Returns the row limit of the next page; 0: no more pages.
using TakePage = std::function<int(const nlohmann::json& page)>;

// Fetches page by page, all from one controller.
// Errors: as ask_controllers(); kUnavailable if another controller answers a
//         later page. An exception of `take` counts as a broken protocol.
[[nodiscard]] Status ask_pages(const Controllers& controllers,
                               ControllerQuery query, Credentials& credentials,
                               const TakePage& take,
                               int timeout_ms = kAskControllerTimeoutMs);

// Fetches all pages as one document, with the rows under `rows` ("jobs",
// "nodes").
//   max_rows  maximum number of rows; "next" is kept if there are more
// Errors: as ask_pages()
[[nodiscard]] Result<nlohmann::json> ask_for_all(
    const Controllers& controllers, ControllerQuery query, const char* rows,
    size_t max_rows, Credentials& credentials,
    int timeout_ms = kAskControllerTimeoutMs);

}  // namespace penstock
