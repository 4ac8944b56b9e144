// Builds the plugin's messages to penstockd (common/protocol.h). Pure.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "common/protocol.h"

namespace penstock::spank {

// A message of type Message, zeroed, with its header filled in.
template <class Message>
Message make_message(penstock_message_type type, uint32_t request_id = 0) {
  Message message{};
  message.header = {PENSTOCK_MAGIC, PENSTOCK_PROTOCOL_VERSION,
                    static_cast<uint16_t>(type), sizeof(Message), request_id};
  return message;
}

// Copies as much of text as fits; the rest of the field is NULs.
template <size_t N>
void set_field(char (&field)[N], std::string_view text) {
  const size_t length = text.size() < N ? text.size() : N;
  std::memset(field, 0, N);
  std::memcpy(field, text.data(), length);
}

// The same for what users write freely: penstockd takes printable ASCII only,
// so that each byte of anything else becomes '?'.
template <size_t N>
void set_printable(char (&field)[N], std::string_view text) {
  set_field(field, text);
  for (char& c : field)
    if (c != '\0' && (c < ' ' || c > '~')) c = '?';
}

}  // namespace penstock::spank
