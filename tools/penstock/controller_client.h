// Asks penstockctld (docs/protocol.md, "Questions to a controller").
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "select_ext/ctld/credential.h"
#include "select_ext/ctld/query.h"

namespace penstock {

inline constexpr int kAskControllerTimeoutMs = 3000;  // for each controller

// One page of the answer: from the first of the controllers that is active and
// answers within the time.
// Errors: kUnavailable       none does: names each and what to do about it
//         kPermissionDenied  the controller refuses; or the answer is not
//                            sealed by root or the caller
//         kInvalidArgument   no controller is configured; an answer that
//                            breaks the protocol; the controller refuses
//         others             munge's, the controller's own
[[nodiscard]] Result<nlohmann::json> ask_controllers(
    const std::vector<ControllerAddress>& controllers,
    const ControllerQuery& query, Credentials& credentials,
    int timeout_ms = kAskControllerTimeoutMs);

// --controller, or where it is "" the site's.
// Errors: kInvalidArgument  not HOST:PORT
[[nodiscard]] Result<std::vector<ControllerAddress>> chosen_controllers(
    const std::string& named, const Config& config);

// Takes a page; returns how many rows the next one may have, 0: no more wanted.
using TakePage = std::function<int(const nlohmann::json& page)>;

// Page by page, all from one controller.
// Errors: as ask_controllers(); kUnavailable where another controller answers
//         for a later page; what `take` throws counts as a broken protocol
[[nodiscard]] Status ask_pages(
    const std::vector<ControllerAddress>& controllers, ControllerQuery query,
    Credentials& credentials, const TakePage& take,
    int timeout_ms = kAskControllerTimeoutMs);

// All pages in one document, whose rows are under `rows` ("jobs", "nodes").
//   max_rows  no more than these; "next" is kept where there are more
// Errors: as ask_pages()
[[nodiscard]] Result<nlohmann::json> ask_for_all(
    const std::vector<ControllerAddress>& controllers, ControllerQuery query,
    const char* rows, size_t max_rows, Credentials& credentials,
    int timeout_ms = kAskControllerTimeoutMs);

}  // namespace penstock
