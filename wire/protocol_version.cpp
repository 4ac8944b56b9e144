#include "wire/envelope.h"

namespace penstock {

constexpr uint32_t kControllerProtocol = 1;
constexpr uint32_t kOldestControllerProtocol =
    kControllerProtocol > 1 ? kControllerProtocol - 1 : 1;

}  // namespace penstock
