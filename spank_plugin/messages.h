// Builds the plugin's messages to penstockd (common/protocol.h). Pure.
#pragma once

#include "common/protocol.h"
#include "common/wire_text.h"

namespace penstock::spank {

// A message of type Message, zeroed, with its header filled in.
template <class Message>
Message make_message(penstock_message_type type, uint32_t request_id = 0) {
  Message message{};
  message.header = {PENSTOCK_MAGIC, PENSTOCK_PROTOCOL_VERSION,
                    static_cast<uint16_t>(type), sizeof(Message), request_id};
  return message;
}

}  // namespace penstock::spank
