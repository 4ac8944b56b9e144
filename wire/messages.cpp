#include "wire/messages.h"

#include <fmt/format.h>

#include <set>

#include "common/hex.h"
#include "common/units.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/messages_fields.h"

namespace penstock {
namespace {

using nlohmann::json;

template <class Message>
constexpr const char* kType = nullptr;
template <>
constexpr const char* kType<NodeHello> = "hello";
template <>
constexpr const char* kType<JobChanged> = "job";
template <>
constexpr const char* kType<JobEnded> = "job_ended";
template <>
constexpr const char* kType<Heartbeat> = "heartbeat";
template <>
constexpr const char* kType<Refused> = "refused";
template <>
constexpr const char* kType<NodeGrant> = "grant";
template <>
constexpr const char* kType<Beat> = "beat";
template <>
constexpr const char* kType<Resync> = "resync";
template <>
constexpr const char* kType<ReportPart> = "report_part";
template <>
constexpr const char* kType<ReportKept> = "report_kept";

std::string allowed(const FieldFault& fault) {
  const std::string_view type = fault.type;
  if (fault.kind == FieldFault::Kind::kTooMany) {
    return fmt::format("at most {} entries", fault.most);
  }
  if (type == "a whole number") {
    return fmt::format("a whole number from {}", fault.allowed);
  }
  if (type == "a text") {
    return fmt::format("a text of at most {} bytes", fault.most);
  }
  if (type != "a number") return type.empty() ? fault.allowed : fault.type;
  return fault.kind == FieldFault::Kind::kRange
             ? fmt::format("{} to {}, not {}", fault.low, fault.high,
                           fault.value)
             : fmt::format("a number from {} to {}", fault.low, fault.high);
}

Error error_of(const FieldFault& fault) {
  return Error{fault.kind == FieldFault::Kind::kTooMany
                   ? Code::kLimit
                   : Code::kInvalidArgument,
               0, fault.path + ": allowed: " + allowed(fault)};
}

constexpr FieldDialect kDialect = {.printable_bytes = kMaxPackedText,
                                   .separator = ": ",
                                   .error_of = error_of};

template <class Message>
Status check(const Message&) {
  return Done{};
}

Status check(const NodeHello& hello) {
  std::set<uint64_t> ids;
  for (const JobPart& part : hello.parts) {
    if (!ids.insert(part.id).second) {
      return invalid(fmt::format("hello: job {} twice", part.id));
    }
  }
  return Done{};
}

Status check(const JobEnded& ended) {
  if (!ended.last || ended.last->id == ended.id) return Done{};
  return invalid(fmt::format("job_ended: last is of job {}, not of {}",
                             ended.last->id, ended.id));
}

Status check(const ReportPart& part) {
  if (!part.packed.empty() && from_hex(part.packed)) return Done{};
  return invalid("report_part: packed: allowed: hexadecimal digits in pairs");
}

template <class Whole, class Message>
Result<Whole> read_as(const json& body) {
  Result<Message> message =
      read_fields<Message>(body, kDialect, kType<Message>);
  if (!message) return std::move(message).error();
  if (Status good = check(*message); !good) return std::move(good).error();
  return Whole(*std::move(message));
}

template <class... Messages>
TypedBody write(const std::variant<Messages...>& message) {
  return std::visit(
      [](const auto& it) {
        return TypedBody{kType<std::decay_t<decltype(it)>>,
                         write_fields<json>(it)};
      },
      message);
}

template <class... Messages>
Result<std::variant<Messages...>> read(const std::string& type,
                                       const json& body,
                                       std::variant<Messages...>) {
  using Whole = std::variant<Messages...>;
  Result<Whole> out = invalid("a message of type " + penstock::quoted(type) +
                              ", which this program does not know");
  const auto read_if = [&](const char* name, auto read) {
    if (type == name) out = read(body);
  };
  (read_if(kType<Messages>, read_as<Whole, Messages>), ...);
  return out;
}

}  // namespace

TypedBody body_of(const AgentMessage& message) { return write(message); }

TypedBody body_of(const ControllerMessage& message) { return write(message); }

Result<AgentMessage> read_agent_message(const std::string& type,
                                        const json& body) {
  return read(type, body, AgentMessage());
}

Result<ControllerMessage> read_controller_message(const std::string& type,
                                                  const json& body) {
  return read(type, body, ControllerMessage());
}

std::string to_text(const ReportPart& part) {
  return write_fields<json>(part).dump();
}

Result<ReportPart> read_report_part(std::string_view text) {
  const json body = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) return invalid("report_part: not an object");
  return read_as<ReportPart, ReportPart>(body);
}

}  // namespace penstock
