#include "wire/envelope.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/text_scan.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"

namespace penstock {

// Except the session, which is a text, and the body.
template <class Visitor, ConstOrNot<Envelope> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("version", it.version);
  visit("newest_version", it.newest_version);
  visit("type", it.type);
  visit("node", it.node);
  visit("sequence", it.sequence);
  visit("sent_unix_s", it.sent_unix_s);
}

namespace {

using nlohmann::json;

constexpr int kDeepest = 16;
constexpr double kLatestUnix_s = 253402300799;  // the end of the year 9999

bool valid_type(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTypeBytes &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

bool valid_node(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNodeBytes &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c > 0x20 && c < 0x7f; });
}

Status check_version(uint32_t version) {
  if (version >= kOldestControllerProtocol && version <= kControllerProtocol) {
    return Done{};
  }
  return invalid(fmt::format(
      "protocol version {}; this program speaks {} to {} (upgrade the older "
      "end: one release may be between them)",
      version, kOldestControllerProtocol, kControllerProtocol));
}

Status check(const Envelope& envelope) {
  if (Status known = check_version(envelope.version); !known) return known;
  if (envelope.newest_version < envelope.version) {
    return invalid("newest_version: less than version");
  }
  if (!valid_type(envelope.type)) {
    return invalid("type: allowed: 1 to 32 of a-z and '_'");
  }
  if (!valid_node(envelope.node)) {
    return invalid("node: allowed: 1 to 64 printable characters");
  }
  if (envelope.session == 0) return invalid("session: 0; allowed: 1 and up");
  if (envelope.sequence == 0) return invalid("sequence: 0; allowed: 1 and up");
  if (!(envelope.sent_unix_s >= 0 && envelope.sent_unix_s <= kLatestUnix_s)) {
    return invalid("sent_unix_s: not a time");
  }
  if (!envelope.body.is_object()) return invalid("body: not an object");
  return Done{};
}

Error too_large(size_t bytes) {
  return Error{Code::kLimit, 0,
               fmt::format("a message of {} bytes; allowed: {}", bytes,
                           kMaxEnvelopeBytes)};
}

// Not every JSON reader holds 64-bit numbers exactly, so they are sent as hex.
std::string session_text(uint64_t session) {
  return fmt::format("{:016x}", session);
}

Result<uint64_t> session_of(const std::string& text) {
  uint64_t session = 0;
  if (text.size() != 16 || !to_number(text, session, 16)) {
    return invalid("session: not 16 hexadecimal digits");
  }
  return session;
}

Error error_of(const FieldFault& fault) {
  return invalid(fault.path + (fault.kind == FieldFault::Kind::kRange
                                   ? ": too large"
                                   : ": missing, or of another kind"));
}

constexpr FieldDialect kDialect = {.error_of = error_of};

// Check the version first: other versions may have other fields.
Result<Envelope> read_envelope(json& object) {
  FieldReader reader(object, kDialect);
  Envelope envelope;
  reader("version", envelope.version);
  if (Status read = reader.finish(); !read) return std::move(read).error();
  if (Status known = check_version(envelope.version); !known) {
    return std::move(known).error();
  }
  std::string session_digits;
  visit_fields(reader, envelope);
  reader("session", session_digits);
  if (Status read = reader.finish(); !read) return std::move(read).error();
  Result<uint64_t> session = session_of(session_digits);
  if (!session) return std::move(session).error();
  envelope.session = *session;
  if (!object.contains("body")) return invalid("body: missing");
  envelope.body = std::move(object["body"]);
  if (Status good = check(envelope); !good) return std::move(good).error();
  return envelope;
}

}  // namespace

Result<std::string> pack(const Envelope& envelope) try {
  if (Status good = check(envelope); !good) return std::move(good).error();
  json object = write_fields<json>(envelope);
  object["session"] = session_text(envelope.session);
  object["body"] = envelope.body;
  std::string text =
      object.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kMaxEnvelopeBytes) return too_large(text.size());
  return text;
} catch (const std::exception& error) {
  return invalid(std::string("a message: ") + error.what());
}

Result<Envelope> unpack(std::string_view text) try {
  if (text.size() > kMaxEnvelopeBytes) return too_large(text.size());
  auto [object, is_too_deep] = parse_json(text, kDeepest);
  if (is_too_deep) {
    return Error{Code::kLimit, 0,
                 fmt::format("a message nested deeper than {}", kDeepest)};
  }
  if (!object.is_object()) {
    return invalid("a message that is not a JSON object");
  }
  return read_envelope(object);
} catch (const std::exception& error) {
  return invalid(std::string("a message: ") + error.what());
}

Envelope Sender::next(std::string type, json body, double now_unix_s) {
  Envelope envelope;
  envelope.version = version_;
  envelope.type = std::move(type);
  envelope.node = node_;
  envelope.session = session_;
  envelope.sequence = ++sequence_;
  envelope.sent_unix_s = now_unix_s;
  envelope.body = std::move(body);
  return envelope;
}

}  // namespace penstock
