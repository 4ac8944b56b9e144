#include "broker/message.h"

#include <cstring>

namespace penstock {
namespace {

constexpr uint32_t kMagic = 0x42535450;  // "PTSB"
// Raised with each change to a message or verb.
constexpr uint32_t kVersion = 1;

struct RequestHeader {
  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  uint32_t verb = 0;
  int32_t id = 0;
  int64_t numbers[2] = {0, 0};
  uint32_t path_bytes = 0;
  uint32_t name_bytes = 0;
  uint32_t data_bytes = 0;
  uint32_t unused = 0;
};

struct ReplyHeader {
  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  uint32_t failed = 0;  // 0, or 1 + Code
  int32_t saved_errno = 0;
  uint64_t number = 0;
  uint32_t message_bytes = 0;
  uint32_t data_bytes = 0;
};

void append(std::vector<std::byte>& out, const void* from, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(from);
  out.insert(out.end(), bytes, bytes + size);
}

Error malformed() {
  return invalid(
      "a message of another release of Penstock, or a malformed one; restart "
      "penstockd and penstock-broker together");
}

// Takes the header and checks what both kinds share.
template <class Header>
bool take_header(std::span<const std::byte>& rest, Header& header) {
  if (rest.size() < sizeof header) return false;
  std::memcpy(&header, rest.data(), sizeof header);
  rest = rest.subspan(sizeof header);
  return header.magic == kMagic && header.version == kVersion;
}

std::string take_text(std::span<const std::byte>& rest, size_t size) {
  std::string text(reinterpret_cast<const char*>(rest.data()), size);
  rest = rest.subspan(size);
  return text;
}

}  // namespace

std::vector<std::byte> encode(const BrokerRequest& request) {
  RequestHeader header;
  header.verb = static_cast<uint32_t>(request.verb);
  header.id = request.id;
  std::memcpy(header.numbers, request.numbers, sizeof header.numbers);
  header.path_bytes = static_cast<uint32_t>(request.path.size());
  header.name_bytes = static_cast<uint32_t>(request.name.size());
  header.data_bytes = static_cast<uint32_t>(request.data.size());
  std::vector<std::byte> out;
  append(out, &header, sizeof header);
  for (const std::string* text : {&request.path, &request.name, &request.data})
    append(out, text->data(), text->size());
  return out;
}

std::vector<std::byte> encode(const BrokerReply& reply) {
  ReplyHeader header;
  header.number = reply.number;
  std::string message;
  if (!reply.status) {
    const Error& error = reply.status.error();
    header.failed = 1 + static_cast<uint32_t>(error.code);
    header.saved_errno = error.saved_errno;
    message = error.message.substr(0, kMaxBrokerPathBytes);
  }
  header.message_bytes = static_cast<uint32_t>(message.size());
  header.data_bytes = static_cast<uint32_t>(reply.data.size());
  std::vector<std::byte> out;
  append(out, &header, sizeof header);
  append(out, message.data(), message.size());
  append(out, reply.data.data(), reply.data.size());
  return out;
}

Result<BrokerRequest> decode_request(std::span<const std::byte> datagram) {
  RequestHeader header;
  if (!take_header(datagram, header) ||
      header.path_bytes > kMaxBrokerPathBytes ||
      header.name_bytes > kMaxBrokerNameBytes ||
      header.data_bytes > kMaxBrokerDataBytes ||
      datagram.size() !=
          size_t{header.path_bytes} + header.name_bytes + header.data_bytes ||
      header.verb >= static_cast<uint32_t>(Verb::kCount)) {
    return malformed();
  }
  BrokerRequest request;
  request.verb = static_cast<Verb>(header.verb);
  request.id = header.id;
  std::memcpy(request.numbers, header.numbers, sizeof request.numbers);
  request.path = take_text(datagram, header.path_bytes);
  request.name = take_text(datagram, header.name_bytes);
  request.data = take_text(datagram, header.data_bytes);
  return request;
}

Result<BrokerReply> decode_reply(std::span<const std::byte> datagram) {
  ReplyHeader header;
  if (!take_header(datagram, header) ||
      header.failed > 1 + static_cast<uint32_t>(Code::kLimit) ||
      header.message_bytes > kMaxBrokerPathBytes ||
      header.data_bytes > kMaxBrokerDataBytes ||
      datagram.size() != size_t{header.message_bytes} + header.data_bytes) {
    return malformed();
  }
  BrokerReply reply;
  reply.number = header.number;
  std::string message = take_text(datagram, header.message_bytes);
  reply.data = take_text(datagram, header.data_bytes);
  if (header.failed != 0) {
    reply.status = Error{static_cast<Code>(header.failed - 1),
                         header.saved_errno, std::move(message)};
  }
  return reply;
}

}  // namespace penstock
