#include "tests/model/garbage.h"

#include <cstring>
#include <vector>

#include "common/protocol.h"

namespace penstock::model {

void send_garbage(Trial& trial, SocketClient& client) {
  alignas(8) unsigned char packet[1100];
  for (unsigned char& byte : packet) {
    byte = trial.one_in(2) ? 0 : (unsigned char)trial.below(256);
  }
  static const std::vector<size_t> kSizes = {0,
                                             3,
                                             sizeof(penstock_header),
                                             sizeof(penstock_limit),
                                             sizeof(penstock_hello),
                                             sizeof(penstock_status),
                                             sizeof(penstock_thread),
                                             sizeof(penstock_task_start),
                                             sizeof(penstock_task_exit),
                                             sizeof(penstock_step_end),
                                             1024,
                                             1025};
  const size_t size = trial.one_of(kSizes);
  const auto type = uint16_t(1 + trial.below(11));
  if (!trial.one_in(4) && size >= sizeof(penstock_header)) {
    const penstock_header header = {PENSTOCK_MAGIC, PENSTOCK_PROTOCOL_VERSION,
                                    type, uint32_t(size), 7};
    std::memcpy(packet, &header, sizeof header);
  }
  const pid_t pid = pid_t(1000 + trial.below(400));
  trial.did("process {} sends {} bytes of type {}", pid, size, type);
  client.send(pid, uid_t(1000 + trial.below(3)), packet, size);
}

}  // namespace penstock::model
