// Takes the place of select_ext/ctld/protocol_version.cpp in daemons as the
// next version of the protocol will have them.
#include "select_ext/ctld/envelope.h"

namespace penstock {

constexpr uint32_t kControllerProtocol = 2;
constexpr uint32_t kOldestControllerProtocol = 1;

}  // namespace penstock
