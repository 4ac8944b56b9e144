// Takes the place of wire/protocol_version.cpp in daemons as the
// next version of the protocol will have them.
#include "wire/envelope.h"

namespace penstock {

constexpr uint32_t kControllerProtocol = 2;
constexpr uint32_t kOldestControllerProtocol = 1;

}  // namespace penstock
